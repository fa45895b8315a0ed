import { effect, signal } from '@preact/signals';

import { storedSignal } from '../core/stored.js';

/** Colours of the page: those of the system, or always the same. */
export type Theme = 'system' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
const systemDark = matchMedia('(prefers-color-scheme: dark)');

/** The user's choice. */
export const theme = storedSignal<Theme>('theme', 'system', (value): value is Theme => THEMES.includes(value as Theme));
/** Changes when colours do, for what is drawn on a canvas. */
export const colourCount = signal(0);

/** Chooses the next theme: system, light, dark. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length];
}

/** Whether colours are light on dark now. */
export function isDark(): boolean {
  return theme.value === 'dark' || (theme.value === 'system' && systemDark.matches);
}

/** Returns the value of a colour variable of the style sheet, resolved for the theme. @param name such as `--text`. */
export function colourOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'system' ? 'light dark' : theme.value;
  colourCount.value = colourCount.peek() + 1;
});
systemDark.addEventListener('change', () => colourCount.value++);

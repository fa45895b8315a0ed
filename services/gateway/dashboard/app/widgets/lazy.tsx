import { useSignal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect } from 'preact/hooks';

import { messageOf } from '../core/http.js';

/** Makes a component whose code is loaded when it is first shown. */
export function lazyComponent<P extends object>(load: () => Promise<ComponentType<P>>): (props: P) => JSX.Element {
  return function Lazy(props: P) {
    const loaded = useSignal<{ readonly Drawn: ComponentType<P> } | undefined>(undefined);
    const failure = useSignal('');
    useEffect(() => {
      load().then(
        (Drawn) => (loaded.value = { Drawn }),
        (error: unknown) => (failure.value = messageOf(error)),
      );
    }, []);
    if (failure.value !== '') return <p class="error">{failure}</p>;
    if (loaded.value === undefined) return <p class="dim">Loading…</p>;
    const { Drawn } = loaded.value;
    return <Drawn {...props} />;
  };
}

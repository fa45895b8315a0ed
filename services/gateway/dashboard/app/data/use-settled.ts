import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** Returns a value as it was when it had stayed the same for some time: what is typed is not loaded at each key. */
export function useSettled<T>(value: T, ms: number): T {
  const settled = useSignal(value);
  useEffect(() => {
    if (settled.peek() === value) return;
    const timer = setTimeout(() => (settled.value = value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled.value;
}

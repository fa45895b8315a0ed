import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { messageOf } from '../../core/http.js';
import type { ResultChart } from './result-chart.js';

type ChartProps = Parameters<typeof ResultChart>[0];

/** The chart of a result, whose code is loaded when the first one is drawn. */
export function LazyChart(props: ChartProps) {
  const loaded = useSignal<{ readonly Drawn: typeof ResultChart } | undefined>(undefined);
  const failure = useSignal('');
  useEffect(() => {
    import('./result-chart.js').then(
      (module) => (loaded.value = { Drawn: module.ResultChart }),
      (error: unknown) => (failure.value = messageOf(error)),
    );
  }, []);
  if (failure.value !== '') return <p class="error">{failure}</p>;
  if (loaded.value === undefined) return <p class="dim">Loading…</p>;
  const { Drawn } = loaded.value;
  return <Drawn {...props} />;
}

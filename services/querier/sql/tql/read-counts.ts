import type { LabelMatcher } from '../../series/matcher.js';
import { selectorText } from '../../promql/syntax/print.js';
import type { SampleSeries } from '../../promql/runtime/samples.js';
import type { PromEvaluation, PromEvaluationRequest, PromSession } from '../../promql/engine.js';

interface Read {
  readonly selector: string;
  series: number;
  samples: number;
}

/** A session that counts what each selector reads. */
export class ReadCounts implements PromSession {
  readonly #session: PromSession;
  readonly #reads = new Map<string, Read>();

  constructor(session: PromSession) {
    this.#session = session;
  }

  async select(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): Promise<readonly SampleSeries[]> {
    const series = await this.#session.select(matchers, fromMs, toMs);
    const selector = selectorText({ name: '', matchers });
    const read = this.#reads.get(selector) ?? { selector, series: 0, samples: 0 };
    this.#reads.set(selector, read);
    read.series += series.length;
    for (const { times } of series) read.samples += times.length;
    return series;
  }

  evaluate(request: PromEvaluationRequest): Promise<PromEvaluation> {
    return this.#session.evaluate(request, this);
  }

  resolveDatabase(matchers: readonly LabelMatcher[]): { readonly database: string } {
    return this.#session.resolveDatabase(matchers);
  }

  close(): void {
    this.#session.close();
  }

  /** Returns one line for each selector. */
  lines(): string[] {
    return Array.from(this.#reads.values(), ({ selector, series, samples }) => {
      return `Select: ${selector} series=${series} samples=${samples}`;
    });
  }
}

import type { LabelMatcher } from '../../series/matcher.js';
import { selectorText } from '../../promql/print.js';
import type { SampleSeries } from '../../promql/samples.js';
import type { PromOutcome, PromQuestion, PromSession } from './engine.js';

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

  evaluate(question: PromQuestion): Promise<PromOutcome> {
    return this.#session.evaluate(question, this);
  }

  addressed(matchers: readonly LabelMatcher[]): { readonly database: string } {
    return this.#session.addressed(matchers);
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

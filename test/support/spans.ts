/** Start of spans whose `startUs` is 0, in microseconds. */
export const SPANS_START_US = 1_700_000_000_000_000;

/** A span of OTLP in JSON. */
export interface TestSpan {
  readonly trace: string;
  readonly span: string;
  readonly parent?: string;
  readonly service: string;
  readonly name: string;
  readonly kind?: number;
  readonly startUs?: number;
  readonly durationUs?: number;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Returns attributes of OTLP. @param members values such as `{ stringValue: 'a' }` by key. */
export function keyValues(members: Readonly<Record<string, unknown>>): unknown[] {
  return Object.entries(members).map(([key, value]) => ({ key, value }));
}

/** Returns a request with spans, each with a resource of its own. */
export function spansRequest(spans: readonly TestSpan[]): string {
  const resourceSpans = spans.map((span) => {
    const startUs = SPANS_START_US + (span.startUs ?? 0);
    return {
      resource: {
        attributes: keyValues({ 'service.name': { stringValue: span.service }, 'host.name': { stringValue: 'web-1' } }),
      },
      scopeSpans: [
        {
          scope: { name: 'tracer', version: '1.2' },
          spans: [
            {
              traceId: span.trace,
              spanId: span.span,
              parentSpanId: span.parent,
              name: span.name,
              kind: span.kind ?? 1,
              startTimeUnixNano: `${startUs}000`,
              endTimeUnixNano: `${startUs + (span.durationUs ?? 1_000)}000`,
              attributes: keyValues(span.attributes ?? {}),
              ...span.more,
            },
          ],
        },
      ],
    };
  });
  return JSON.stringify({ resourceSpans });
}

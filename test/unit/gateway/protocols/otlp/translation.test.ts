import { expect } from 'chai';

import {
  labelOf,
  metricNameOf,
  STRATEGIES,
  type MetricIdentity,
  type TranslationStrategy,
} from '#services/gateway/protocols/otlp/metrics/translation';
import { invariant } from '#shared/errors/invariant';

function strategy(name: string): TranslationStrategy {
  const found = STRATEGIES.get(name);
  invariant(found !== undefined, 'no such strategy');
  return found;
}

const ESCAPED = strategy('UnderscoreEscapingWithSuffixes');
const KEPT = strategy('NoUTF8EscapingWithSuffixes');

function nameOf(given: Partial<MetricIdentity>, how = ESCAPED): string {
  return metricNameOf({ name: 'x', unit: '', isMonotonicSum: false, isGauge: false, ...given }, how);
}

describe('names of OpenTelemetry metrics', () => {
  it('are escaped, with the unit and the type at the end', () => {
    expect(nameOf({ name: '_a..b' })).to.equal('a_b');
    expect(nameOf({ name: '2xx' })).to.equal('_2xx');
    expect(nameOf({ name: 'http.io', unit: 'By', isMonotonicSum: true })).to.equal('http_io_bytes_total');
    expect(nameOf({ name: 'http.total.io', unit: 'By/s', isMonotonicSum: true })).to.equal(
      'http_io_bytes_per_second_total',
    );
    expect(nameOf({ name: 'used.ratio', unit: '1', isGauge: true })).to.equal('used_ratio');
    expect(nameOf({ name: 'free', unit: '1', isGauge: true })).to.equal('free_ratio');
    expect(nameOf({ name: 'queue', unit: '{item}', isGauge: true })).to.equal('queue');
    expect(nameOf({ name: 'lat.seconds', unit: 's' })).to.equal('lat_seconds');
    expect(nameOf({ name: 'speed', unit: 'km/h' })).to.equal('speed_km_per_hour');
  });

  it('keep their characters if the client says so', () => {
    expect(nameOf({ name: 'http.io', unit: 'By', isMonotonicSum: true }, KEPT)).to.equal('http.io_bytes_total');
    expect(nameOf({ name: 'lat_seconds', unit: 's' }, KEPT)).to.equal('lat_seconds');
    expect(nameOf({ name: 'http.io', unit: 'By' }, strategy('NoTranslation'))).to.equal('http.io');
    expect(nameOf({ name: 'http.io', unit: 'By' }, strategy('UnderscoreEscapingWithoutSuffixes'))).to.equal('http_io');
  });

  it('become labels without characters that Prometheus does not allow', () => {
    expect(labelOf('http.method', ESCAPED)).to.equal('http_method');
    expect(labelOf('1st', ESCAPED)).to.equal('key_1st');
    expect(labelOf('_private', ESCAPED)).to.equal('key_private');
    expect(labelOf('__kept', ESCAPED)).to.equal('__kept');
    expect(labelOf('http.method', KEPT)).to.equal('http.method');
  });
});

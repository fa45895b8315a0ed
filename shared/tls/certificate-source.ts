import type { Clock, Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import type { Logger } from '#shared/telemetry/log';
import type { Gauge, Metrics } from '#shared/telemetry/metrics';

import { readCertificateSet, type CertificatePaths, type CertificateSet } from './certificate.js';

/** Dependencies of a `CertificateSource`. */
export interface CertificateSourceDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The values of a section such as `[http.tls]`. */
export interface TlsSettings extends CertificatePaths {
  /** Whether changed files are loaded. */
  readonly watch: boolean;
}

/** Time between two looks at the files. */
const WATCH_MS = 1_000;

/** The certificate of a process for HTTP or gRPC, which is replaced when its files change. */
export class CertificateSource {
  readonly #section: string;
  readonly #settings: TlsSettings;
  readonly #deps: CertificateSourceDeps;
  readonly #notAfter: Gauge<'section'>;
  readonly #listeners = new Set<(certificates: CertificateSet) => void>();
  #current: CertificateSet;
  /** State of the files when they were read last. */
  #stamp: string;
  /** Why the files could not be loaded at the last look. */
  #problem: string | undefined;
  #isReported = false;
  #timer: Timer | undefined;

  /**
   * Reads the files.
   *
   * @param section name of the configuration section: `http.tls`.
   * @throws `invalid_arguments` if they cannot be used.
   */
  constructor(section: string, settings: TlsSettings, deps: CertificateSourceDeps) {
    this.#section = section;
    this.#settings = settings;
    this.#deps = deps;
    this.#notAfter = expiryGauge(deps.metrics);
    this.#stamp = this.#stampNow();
    this.#current = readCertificateSet(section, settings);
    this.#show();
    if (settings.watch) this.#watch();
  }

  /** What new connections use. */
  get current(): CertificateSet {
    return this.#current;
  }

  /** Calls `listener` after each change. @returns a function that ends this. */
  onChange(listener: (certificates: CertificateSet) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Stops watching. */
  close(): void {
    this.#timer?.cancel();
    this.#listeners.clear();
  }

  #watch(): void {
    this.#timer = this.#deps.clock.after(WATCH_MS, () => {
      this.#watch();
      this.#look();
    });
  }

  #look(): void {
    const stamp = this.#stampNow();
    if (stamp === this.#stamp && this.#problem === undefined) return;
    this.#stamp = stamp;
    try {
      const certificates = readCertificateSet(this.#section, this.#settings);
      this.#problem = undefined;
      this.#isReported = false;
      this.#replace(certificates);
    } catch (error) {
      this.#keep(AlmanacError.from(error).message);
    }
  }

  #replace(certificates: CertificateSet): void {
    const { cert, key, ca } = this.#current;
    if (certificates.cert === cert && certificates.key === key && certificates.ca === ca) return;
    this.#current = certificates;
    const { subject, notAfterMs } = certificates;
    const fields = { section: this.#section, subject, notAfter: new Date(notAfterMs).toISOString() };
    this.#deps.log.info(fields, 'TLS certificate loaded');
    this.#show();
    for (const listener of this.#listeners) listener(certificates);
  }

  /** A pair that is being replaced does not match for a moment, so that only a problem that lasts is logged, and once. */
  #keep(problem: string): void {
    if (problem !== this.#problem) this.#isReported = false;
    else if (!this.#isReported) {
      this.#isReported = true;
      this.#deps.log.warn({ reason: problem }, 'changed TLS files not loaded; the former certificate stays in use');
    }
    this.#problem = problem;
  }

  #show(): void {
    const { clock, log } = this.#deps;
    const { subject, notBeforeMs, notAfterMs } = this.#current;
    const section = this.#section;
    this.#notAfter.set({ section }, notAfterMs / 1_000);
    const nowMs = clock.nowMs();
    if (notAfterMs < nowMs) {
      log.warn({ section, subject, notAfter: new Date(notAfterMs).toISOString() }, 'TLS certificate has expired');
    } else if (notBeforeMs > nowMs) {
      log.warn(
        { section, subject, notBefore: new Date(notBeforeMs).toISOString() },
        'TLS certificate is not valid yet',
      );
    }
  }

  #stampNow(): string {
    const { certPath, keyPath, caCertPath } = this.#settings;
    const files = [certPath, keyPath, ...(caCertPath === undefined ? [] : [caCertPath])];
    return JSON.stringify(files.map(stampOf));
  }
}

function stampOf(path: string): unknown {
  try {
    return nodeFileSystem.stampSync(path);
  } catch {
    // A folder on the way that cannot be entered; reading the file reports it.
    return 'unreadable';
  }
}

/** Opens the certificate of a section; undefined if its mode is `disable`. @throws as the constructor. */
export function openCertificates(
  section: string,
  settings: TlsSettings & { readonly mode: string },
  deps: CertificateSourceDeps,
): CertificateSource | undefined {
  // Alerts on the metric are valid for a process without TLS, too.
  expiryGauge(deps.metrics);
  return settings.mode === 'disable' ? undefined : new CertificateSource(section, settings, deps);
}

function expiryGauge(metrics: Metrics): Gauge<'section'> {
  return metrics.gauge({
    name: 'tls_certificate_not_after_timestamp_seconds',
    help: 'when the certificate that new connections get expires, in seconds since 1970',
    labelNames: ['section'],
  });
}

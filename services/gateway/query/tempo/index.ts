import { flag } from '#shared/config/key';
import type { ConfigSection } from '#shared/config/schema';

/** Section of the configuration of the query API of Tempo (spec: docs/protocols/tempo.md). */
export const TEMPO_SECTION = {
  name: 'tempo',
  keys: { enable: flag({ default: true, doc: 'Serve traces through the query API of Tempo.' }) },
} as const satisfies ConfigSection;

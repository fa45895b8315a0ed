import { flag } from '#shared/config/key';
import type { ConfigSection } from '#shared/config/schema';

/** Section of the configuration of the query API of Jaeger (spec: docs/protocols/jaeger.md). */
export const JAEGER_SECTION = {
  name: 'jaeger',
  keys: { enable: flag({ default: true, doc: 'Serve traces through the query API of Jaeger.' }) },
} as const satisfies ConfigSection;

import { sectionValues } from '#shared/config/schema';
import { readBuildInfo } from '#shared/lifecycle/build-info';

import { parseLogql } from '../../logql/syntax/parse.js';
import { printLogql } from '../../logql/syntax/print.js';
import type { RouteDoc } from '../../openapi/route-doc.js';
import type { Handler, HttpMethod } from '../../request-context.js';
import type { QueryReply } from '../query-route.js';
import { detectedFields, detectedFieldValues } from './detected-fields.js';
import { LOKI_DOCS } from './doc.js';
import { LOKI_BASES, LOKI_QUERY_SECTION } from './index.js';
import { detectedLabels, indexStats, labelNames, lokiLabelValues, seriesList } from './labels.js';
import { requiredQuery } from './parameters.js';
import { queryInstant, lokiQueryRange } from './query.js';
import { lokiData, lokiHandler, type LokiDeps, type LokiRequest, type LokiRun } from './request.js';
import { tailWithoutUpgrade } from './tail.js';
import { indexVolume, indexVolumeRange } from './volume.js';

/** A path of the query API of Loki. */
interface LokiRoute {
  readonly methods: readonly HttpMethod[];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

/** Version of Loki whose API this is; clients choose their calls by it. */
const LOKI_VERSION = '3.4.0';

/** Paths below each base, in the syntax of Express. */
const PATHS: Readonly<Record<string, readonly [LokiRun, RouteDoc]>> = {
  '/query_range': [lokiQueryRange, LOKI_DOCS.queryRange],
  '/query': [queryInstant, LOKI_DOCS.query],
  '/labels': [labelNames, LOKI_DOCS.labels],
  '/label': [labelNames, LOKI_DOCS.labels],
  '/label/:name/values': [lokiLabelValues, LOKI_DOCS.labelValues],
  '/series': [seriesList, LOKI_DOCS.series],
  '/index/stats': [indexStats, LOKI_DOCS.indexStats],
  '/index/volume': [indexVolume, LOKI_DOCS.volume],
  '/index/volume_range': [indexVolumeRange, LOKI_DOCS.volumeRange],
  '/detected_labels': [detectedLabels, LOKI_DOCS.detectedLabels],
  '/detected_fields': [detectedFields, LOKI_DOCS.detectedFields],
  '/detected_field/:name/values': [detectedFieldValues, LOKI_DOCS.detectedFieldValues],
  '/tail': [tailWithoutUpgrade, LOKI_DOCS.tail],
  '/format_query': [formatQuery, LOKI_DOCS.formatQuery],
  '/status/buildinfo': [buildInfo, LOKI_DOCS.buildInfo],
};

/** Returns the routes of the query API of Loki; none if the configuration disables it. */
export function lokiQueryRoutes(deps: LokiDeps): readonly LokiRoute[] {
  if (!sectionValues(deps.config, LOKI_QUERY_SECTION).enable) return [];
  return LOKI_BASES.flatMap((base) =>
    Object.entries(PATHS).map(([path, [run, doc]]) => ({
      methods: ['GET', 'POST'] as const,
      path: base + path,
      handler: lokiHandler(run, deps),
      doc,
    })),
  );
}

function formatQuery({ form }: LokiRequest): QueryReply {
  return lokiData(printLogql(parseLogql(requiredQuery(form))));
}

function buildInfo(): QueryReply {
  const { version, commit, branch } = readBuildInfo();
  const build = { version: LOKI_VERSION, revision: commit, branch, buildUser: '', buildDate: '', goVersion: '' };
  return { json: { ...build, almanacVersion: version } };
}

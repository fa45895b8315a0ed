/** The server that programs send data to. */
export interface SnippetTarget {
  /** URL of the server, without a slash at its end. */
  readonly url: string;
  readonly database: string;
  /** Empty if the server has no users. */
  readonly user: string;
}

/** Returns the environment of an OpenTelemetry SDK, as lines of a shell. */
export function otlpEnvironment({ url, database, user }: SnippetTarget): string {
  // Values of the variable are encoded as in a URL.
  const headers = [
    ...(database === 'public' ? [] : [`x-almanac-db-name=${encoded(database)}`]),
    ...(user === '' ? [] : ['authorization=Basic%20PASSWORD']),
  ];
  return [
    `OTEL_EXPORTER_OTLP_ENDPOINT=${url}/v1/otlp`,
    'OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf',
    ...(headers.length === 0 ? [] : [`OTEL_EXPORTER_OTLP_HEADERS=${headers.join(',')}`]),
  ].join('\n');
}

/** Returns a command that sends one span, which ends now, in a trace of its own. */
export function spanCommand({ url, database, user }: SnippetTarget): string {
  const query = database === 'public' ? '' : `?db=${encoded(database)}`;
  const credentials = user === '' ? '' : `-u ${user} `;
  return (
    `curl ${credentials}'${url}/v1/otlp/v1/traces${query}' -H 'content-type: application/json' -d '{"resourceSpans":[{\n` +
    `  "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},\n` +
    `  "scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b6'$(date +%s)'","spanId":"eee19b'$(date +%s)'",\n` +
    `    "name":"GET /cart","kind":2,\n` +
    `    "startTimeUnixNano":"'$(($(date +%s)-1))'000000000","endTimeUnixNano":"'$(date +%s)'000000000"}]}]}]}'`
  );
}

/** Encodes a value so that a shell leaves it as it is, also between quotes. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/['()*!]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

import { otlpEnvironment, spanCommand, type SnippetTarget } from '../../data/otlp-snippets.js';

/** Settings with which a program sends data. */
export interface Snippet {
  readonly title: string;
  /** File that the text belongs to; empty for a command. */
  readonly file: string;
  readonly text: string;
}

/** Returns the settings of the programs that people use most, for a server. Passwords are left to be filled in. */
export function snippetsFor(target: SnippetTarget): readonly Snippet[] {
  return [...metricSnippets(target), ...logSnippets(target)];
}

function metricSnippets(target: SnippetTarget): readonly Snippet[] {
  const { url, database, user } = target;
  const query = database === 'public' ? '' : `?db=${encodeURIComponent(database)}`;
  const { hostname } = new URL(url);
  return [
    {
      title: 'curl, line protocol',
      file: '',
      text: `curl ${user === '' ? '' : `-u ${user} `}'${url}/v1/lineproto/write${query}' --data-binary 'weather,city=Oslo temperature=3.5'`,
    },
    {
      title: 'Telegraf',
      file: 'telegraf.conf',
      text: `[[outputs.influxdb]]
  urls = ["${url}/v1/influxdb"]
  database = "${database}"
  skip_database_creation = true${user === '' ? '' : `\n  username = "${user}"\n  password = "${PASSWORD}"`}`,
    },
    {
      title: 'Prometheus',
      file: 'prometheus.yml',
      text: `remote_write:
  - url: ${url}/v1/prometheus/write${query}${user === '' ? '' : `\n    basic_auth: {username: ${user}, password: ${PASSWORD}}`}`,
    },
    {
      title: 'OpenTelemetry Collector',
      file: 'config.yaml',
      text: `exporters:
  otlphttp:
    endpoint: ${url}/v1/otlp
    headers:
      x-almanac-db-name: ${database}${user === '' ? '' : `\n      authorization: Basic ${PASSWORD}`}`,
    },
    {
      title: 'OpenTelemetry SDK',
      file: 'environment',
      text: otlpEnvironment(target),
    },
    { title: 'curl, a span in OTLP JSON', file: '', text: spanCommand(target) },
    {
      title: 'collectd, OpenTSDB put',
      file: '',
      text: `curl '${url}/v1/opentsdb/api/put${query}' -d '{"metric":"sys.cpu","value":18,"timestamp":1700000000,"tags":{"host":"${hostname}"}}'`,
    },
  ];
}

function logSnippets({ url, database, user }: SnippetTarget): readonly Snippet[] {
  const auth = user === '' ? '' : `\n    auth: {strategy: basic, user: ${user}, password: ${PASSWORD}}`;
  const { hostname, port, protocol } = new URL(url);
  return [
    {
      title: 'Vector',
      file: 'vector.yaml',
      text: `sinks:
  almanac:
    type: loki
    inputs: [my_source]
    endpoint: ${url}/v1
    path: /loki/api/v1/push
    encoding: {codec: json}
    labels: {app: my_app}${auth}`,
    },
    {
      title: 'Fluent Bit',
      file: 'fluent-bit.conf',
      text: `[OUTPUT]
    name   loki
    match  *
    host   ${hostname}
    port   ${port === '' ? (protocol === 'https:' ? '443' : '80') : port}
    uri    /v1/loki/api/v1/push
    tls    ${protocol === 'https:' ? 'on' : 'off'}
    labels app=my_app${user === '' ? '' : `\n    http_user   ${user}\n    http_passwd ${PASSWORD}`}`,
    },
    {
      title: 'Grafana Alloy, Promtail',
      file: 'config.alloy',
      text: `loki.write "almanac" {
  endpoint {
    url = "${url}/v1/loki/api/v1/push"${user === '' ? '' : `\n    basic_auth {\n      username = "${user}"\n      password = "${PASSWORD}"\n    }`}
    headers = { "x-almanac-db-name" = "${database}" }
  }
}`,
    },
  ];
}

const PASSWORD = 'PASSWORD';

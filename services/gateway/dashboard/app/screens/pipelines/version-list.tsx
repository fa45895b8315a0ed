import { useSignal } from '@preact/signals';

import { messageOf } from '../../core/http.js';
import { useLoaded } from '../../data/use-loaded.js';
import { setParameters } from '../../core/route.js';
import { reload, reloadCount } from '../../time/page-range.js';
import { database } from '../../data/sql.js';
import { mayWrite } from '../../shell/available.js';
import { compareLines } from './line-difference.js';
import { deleteVersion, listVersions, pipelineTable, readPipeline, type StoredPipeline } from './pipeline-api.js';

interface VersionListProps {
  readonly name: string;
  /** Undefined for the latest. */
  readonly current: string | undefined;
  /** The text of the editor. */
  readonly text: string;
}

/** The versions of a pipeline: to be loaded, compared with the text of the editor, and deleted. */
export function VersionList({ name, current, text }: VersionListProps) {
  const versions = useLoaded((signal) => listVersions(name, signal), [name, reloadCount.value]);
  const definition = useLoaded((signal) => pipelineTable(name, name, signal), [name, reloadCount.value]);
  const compared = useSignal<{ readonly version: string; readonly text: string } | undefined>(undefined);
  const confirmed = useSignal('');
  const failure = useSignal('');
  const attempt = async (action: () => Promise<void>): Promise<void> => {
    failure.value = '';
    await action().catch((error: unknown) => (failure.value = messageOf(error)));
  };
  const compare = ({ version }: StoredPipeline): Promise<void> =>
    attempt(async () => void (compared.value = { version, text: await readPipeline(name, version) }));
  const remove = (pipeline: StoredPipeline): Promise<void> =>
    attempt(async () => {
      await deleteVersion(pipeline);
      confirmed.value = '';
      setParameters({ version: undefined, ...(versions.value?.length === 1 ? { name: undefined } : {}) });
      reload();
    });
  return (
    <section class="panel stack" aria-label="Versions">
      <h2>Versions</h2>
      {[failure.value, versions.failure].filter(Boolean).map((error) => (
        <p key={error} class="error" role="alert">
          {error}
        </p>
      ))}
      <ul class="pipelines-versions">
        {(versions.value ?? []).map((pipeline, i) => (
          <li key={pipeline.version} class="row">
            <code>{pipeline.version}</code>
            {(current === undefined ? i === 0 : pipeline.version === current) && <span class="good">loaded</span>}
            <button type="button" onClick={() => setParameters({ version: i === 0 ? undefined : pipeline.version })}>
              Load
            </button>
            <button type="button" onClick={() => void compare(pipeline)}>
              Compare
            </button>
            {!mayWrite(database()) ? null : confirmed.value === pipeline.version ? (
              <button type="button" class="danger" onClick={() => void remove(pipeline)}>
                Delete this version for good
              </button>
            ) : (
              <button type="button" onClick={() => (confirmed.value = pipeline.version)}>
                Delete
              </button>
            )}
          </li>
        ))}
      </ul>
      {compared.value !== undefined && (
        <pre
          class="pipelines-difference"
          tabIndex={0}
          aria-label={`Differences from version ${compared.value.version}`}
        >
          {compareLines(compared.value.text, text).map(({ change, text: line }, i) => (
            <span key={i} class={change}>
              {change === 'same' ? '  ' : change === 'added' ? '+ ' : '- '}
              {line}
              {'\n'}
            </span>
          ))}
        </pre>
      )}
      {definition.value !== undefined && (
        <details>
          <summary>Table that it creates</summary>
          <pre tabIndex={0} aria-label="Definition of the table">
            {definition.value}
          </pre>
        </details>
      )}
    </section>
  );
}

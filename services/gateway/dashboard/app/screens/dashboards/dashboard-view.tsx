import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import { messageOf, RequestError } from '../../core/http.js';
import { linkTo, openScreen, parameter, parameters, setParameters } from '../../core/route.js';
import { guardUnload } from '../../core/unsaved.js';
import { database } from '../../data/sql.js';
import { mayWrite } from '../../shell/available.js';
import { pageRange, rangeNow, reloadCount } from '../../time/page-range.js';
import { autoStepSeconds } from '../../time/range.js';
import { zone } from '../../time/zones.js';
import { Confirm } from '../../widgets/confirm.js';
import { fileNameOf, saveFile } from '../../widgets/save-file.js';
import {
  COLUMN_COUNT,
  dashboardText,
  newPanel,
  parseDashboard,
  type DashboardDocument,
  type Panel,
} from './document.js';
import { DocumentForm } from './document-form.js';
import { isSamePlace, nextPlace, settled } from './layout.js';
import type { MacroValues } from './macros.js';
import { PanelFrame } from './panel-frame.js';
import { deleteDashboard, readDashboard, writeDashboard, type OpenDashboard } from './stored-dashboards.js';
import { VariableBar } from './variable-bar.js';

/** Width of a panel for which the step of queries is chosen, in points. */
const POINTS = 400;

/**
 * Changes that are not stored, with the etag of what was changed, by database and name: they outlive the screen, not the
 * page.
 */
const drafts = new Map<string, OpenDashboard>();

/** What a view does with the changes of a dashboard. */
interface Draft {
  readonly document: Signal<DashboardDocument>;
  readonly isChanged: boolean;
  readonly isStoring: boolean;
  readonly failure: string;
  /** Whether another user stored the dashboard, or deleted it, since it was opened. */
  readonly isConflict: boolean;
  readonly store: () => void;
  /** Answers a conflict. */
  readonly resolve: (isReplaced: boolean) => void;
  readonly discard: () => void;
}

/** Holds the changes of a dashboard until they are stored. */
function useDraft(name: string, stored: OpenDashboard): Draft {
  const saved = useSignal(stored);
  const draftKey = `${database()} ${name}`;
  const draft = drafts.get(draftKey) ?? stored;
  const document = useSignal(draft.document);
  const etag = useSignal(draft.etag);
  const failure = useSignal('');
  const isStoring = useSignal(false);
  const isConflict = useSignal(false);
  // What was changed back is no change.
  const isChanged = useMemo(
    () => dashboardText(document.value) !== dashboardText(saved.value.document),
    [document.value, saved.value],
  );
  useEffect(() => {
    if (!isChanged) {
      drafts.delete(draftKey);
      etag.value = saved.value.etag;
      return;
    }
    drafts.set(draftKey, { document: document.value, etag: etag.value });
    return guardUnload();
  }, [document.value, etag.value, saved.value, isChanged]);
  const noteStored = (sent: DashboardDocument, storedEtag: string): void => {
    etag.value = storedEtag;
    saved.value = { document: sent, etag: storedEtag };
    failure.value = '';
    if (document.value !== sent) return;
    // The screen may have been left meanwhile.
    drafts.delete(draftKey);
    setParameters({ edit: undefined }, { replaces: true });
  };
  const store = async (replacedEtag: string | undefined): Promise<void> => {
    // What is changed meanwhile is not stored yet.
    const sent = document.value;
    isStoring.value = true;
    try {
      noteStored(sent, await writeDashboard(name, dashboardText(sent), replacedEtag));
    } catch (error) {
      if (isStatus(error, 412)) await resolveConflict(sent);
      else failure.value = messageOf(error);
    }
    isStoring.value = false;
  };
  const resolveConflict = async (sent: DashboardDocument): Promise<void> => {
    try {
      const { definition, etag: found } = await readDashboard(name);
      // The reply to an earlier attempt was lost.
      if (definition === dashboardText(sent)) return noteStored(sent, found);
      saved.value = { document: parsedOr(definition, saved.value.document), etag: found };
    } catch (error) {
      if (!isStatus(error, 404)) {
        failure.value = messageOf(error);
        return;
      }
      saved.value = { document: saved.value.document, etag: undefined };
    }
    isConflict.value = true;
  };
  return {
    document,
    isChanged,
    isStoring: isStoring.value,
    failure: failure.value,
    isConflict: isConflict.value,
    store: () => void store(etag.value),
    resolve: (isReplaced) => {
      isConflict.value = false;
      if (isReplaced) void store(saved.value.etag);
    },
    discard: () => {
      document.value = saved.value.document;
      etag.value = saved.value.etag;
    },
  };
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof RequestError && error.status === status;
}

/** Clients may store what is no dashboard; it can be replaced, too. */
function parsedOr(definition: string, other: DashboardDocument): DashboardDocument {
  try {
    return parseDashboard(definition);
  } catch {
    return other;
  }
}

/** A dashboard, and the changes of it that are not stored yet. */
export function DashboardView({ name, stored }: { readonly name: string; readonly stored: OpenDashboard }) {
  const draft = useDraft(name, stored);
  const { document, failure, isChanged } = draft;
  const chosen = useSignal<Readonly<Record<string, readonly string[]>>>({});
  const isEditing = parameter('edit') === 'true' && mayWrite(database());
  const { title, panels, variables } = document.value;
  useOwnRange(stored.document);
  const { from, to } = pageRange.value;
  // Each load shows the range as it is then.
  const range = useMemo(rangeNow, [from, to, reloadCount.value, zone.value]);
  const values: MacroValues = { range, stepSeconds: autoStepSeconds(range, POINTS), variables: chosen.value };
  const change = (changes: Partial<DashboardDocument>): void => {
    document.value = { ...document.value, ...changes };
  };
  const setPanel = (at: number, changes: Partial<Panel>): void => {
    // Two fields may change before the page is drawn again.
    const latest = document.value.panels;
    const panel = { ...latest[at], ...changes };
    const all = latest.toSpliced(at, 1, panel);
    change({ panels: isSamePlace(panel, latest[at]) ? all : settled(all, at) });
  };
  // Panels whose variables are not known yet would run with their names.
  const isReady = variables.every((variable) => Object.hasOwn(chosen.value, variable.name));
  return (
    <div class="screen dashboard">
      <div class="row">
        <a href={linkTo('dashboards')}>Dashboards</a>
        <h1>
          <bdi>{title || name}</bdi>
        </h1>
        <span class="grow" />
        <ViewTools
          name={name}
          document={document.value}
          isEditing={isEditing}
          isChanged={isChanged}
          isStoring={draft.isStoring}
          onStore={draft.store}
          onDiscard={draft.discard}
          onAdd={() => change({ panels: [...panels, newPanel(nextPlace(panels, 6, 8))] })}
        />
      </div>
      {failure !== '' && (
        <p class="error" role="alert">
          <bdi>{failure}</bdi>
        </p>
      )}
      {draft.isConflict && (
        <Confirm
          title="Replace the stored dashboard?"
          action="Replace"
          onConfirm={() => draft.resolve(true)}
          onClose={() => draft.resolve(false)}
        >
          <p>
            <bdi>{name}</bdi> was changed or deleted after you opened it. “Discard” shows how it is now.
          </p>
        </Confirm>
      )}
      {isEditing && <DocumentForm document={document.value} onChange={(next) => (document.value = next)} />}
      <VariableBar
        variables={variables}
        values={values}
        onValue={(variable, value) => (chosen.value = { ...chosen.peek(), [variable]: value })}
      />
      {panels.length === 0 && (
        <p class="empty">{isEditing ? 'Add the first panel.' : 'The dashboard has no panels yet.'}</p>
      )}
      <div class="panel-grid" style={{ '--columns': COLUMN_COUNT }}>
        {isReady &&
          panels.map((panel, at) => (
            <PanelFrame
              key={at}
              panel={panel}
              values={values}
              loadKey={JSON.stringify([values.range, values.variables, database()])}
              isEditing={isEditing}
              onChange={(next) => setPanel(at, next)}
              onCopy={() => change({ panels: [...panels, { ...panel, ...nextPlace(panels, panel.w, panel.h) }] })}
              onRemove={() => change({ panels: settled(panels.toSpliced(at, 1)) })}
            />
          ))}
      </div>
    </div>
  );
}

/** Opens a dashboard with its own range, unless the address has one. */
function useOwnRange({ range }: DashboardDocument): void {
  useEffect(() => {
    const hasRange = parameters.peek().has('from') || parameters.peek().has('to');
    if (range !== undefined && !hasRange) setParameters({ from: range.from, to: range.to }, { replaces: true });
  }, []);
}

interface ViewToolsProps {
  readonly name: string;
  readonly document: DashboardDocument;
  readonly isEditing: boolean;
  readonly isChanged: boolean;
  readonly isStoring: boolean;
  readonly onStore: () => void;
  readonly onDiscard: () => void;
  readonly onAdd: () => void;
}

function ViewTools({ name, document, isEditing, isChanged, isStoring, onStore, onDiscard, onAdd }: ViewToolsProps) {
  const isDeleting = useSignal(false);
  const failure = useSignal('');
  const remove = async (): Promise<void> => {
    isDeleting.value = false;
    try {
      await deleteDashboard(name);
      openScreen('dashboards');
    } catch (error) {
      failure.value = messageOf(error);
    }
  };
  const download = (): void => {
    saveFile(`${fileNameOf(name)}.json`, new Blob([dashboardText(document)], { type: 'application/json' }));
  };
  return (
    <>
      {failure.value !== '' && (
        <span class="bad" role="alert">
          <bdi>{failure}</bdi>
        </span>
      )}
      <span class="dashboard-state" role="status">
        {isChanged ? 'Not saved yet' : ''}
      </span>
      {isEditing && (
        <button type="button" onClick={onAdd}>
          Add a panel
        </button>
      )}
      {/* Shown before the first change: what moves under the pointer is pressed by the second half of a double click. */}
      {(isEditing || isChanged) && (
        <>
          <button type="button" disabled={!isChanged} onClick={onDiscard}>
            Discard
          </button>
          <button type="button" class="primary" disabled={!isChanged || isStoring} onClick={onStore}>
            Save
          </button>
        </>
      )}
      {mayWrite(database()) && (
        <button
          type="button"
          aria-pressed={isEditing}
          onClick={() => setParameters({ edit: isEditing ? undefined : 'true' })}
        >
          Edit
        </button>
      )}
      <button type="button" onClick={download}>
        JSON
      </button>
      {mayWrite(database()) && (
        <button type="button" class="danger" onClick={() => (isDeleting.value = true)}>
          Delete
        </button>
      )}
      {isDeleting.value && (
        <Confirm
          title="Delete this dashboard?"
          action="Delete"
          onConfirm={() => void remove()}
          onClose={() => (isDeleting.value = false)}
        >
          <p>
            <bdi>{name}</bdi> is deleted for all users. Its data stays.
          </p>
        </Confirm>
      )}
    </>
  );
}

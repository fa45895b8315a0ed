import '../../style/data.css';
import './profiles.css';

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { isAbort, request, requestJson } from '../../core/http.js';
import { parameter, setParameters } from '../../core/route.js';
import { civilOf, civilText } from '../../time/civil.js';
import { zone } from '../../time/zones.js';
import type { FlameData } from '../../widgets/flame/flame-data.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { chosenNode, NodePicker } from '../../widgets/node-picker.js';
import { keepProfile, readKeptProfiles, type KeptProfile } from './kept-profiles.js';
import { ProfileView } from './profile-view.js';

const SECONDS = [5, 10, 30, 60, 300];
const FREQUENCY = 99;

type Kind = KeptProfile['kind'];

/** Takes profiles of CPU time and of memory, and shows them as flame graphs. */
export function ProfilesScreen() {
  const profiles = useSignal<readonly KeptProfile[]>([]);
  const failure = useSignal<unknown>(undefined);
  const running = useSignal<RunningProfile | undefined>(undefined);
  const abort = useRef<AbortController | undefined>(undefined);
  const kind: Kind = parameter('kind') === 'heap' ? 'heap' : 'cpu';
  const seconds = SECONDS.find((it) => String(it) === parameter('seconds')) ?? 5;
  useEffect(() => {
    void readKeptProfiles().then((kept) => (profiles.value = kept));
    return () => abort.current?.abort();
  }, []);
  const take = async (): Promise<void> => {
    const own = (abort.current = new AbortController());
    failure.value = undefined;
    running.value = { kind, startMs: performance.now(), seconds };
    try {
      const profile = await takeProfile(kind, seconds, own.signal);
      profiles.value = await keepProfile(profile);
      setParameters({ profile: profile.id });
    } catch (error) {
      if (!isAbort(error)) failure.value = error;
    }
    if (abort.current === own) running.value = undefined;
  };
  const shown = profiles.value.find(({ id }) => id === parameter('profile')) ?? profiles.value.at(0);
  const others = profiles.value.filter((other) => other !== shown && other.kind === shown?.kind);
  const base = others.find(({ id }) => id === parameter('base'));
  return (
    <div class="screen profiles">
      <h1 class="visually-hidden">Profiles</h1>
      <div class="row">
        <NodePicker />
        <label class="row tight">
          Of
          <select
            value={kind}
            disabled={running.value !== undefined}
            onChange={({ currentTarget: { value } }) => setParameters({ kind: value === 'cpu' ? undefined : value })}
          >
            <option value="cpu">CPU time</option>
            <option value="heap">memory</option>
          </select>
        </label>
        {kind === 'cpu' && (
          <label class="row tight">
            For
            <select
              value={String(seconds)}
              disabled={running.value !== undefined}
              onChange={({ currentTarget: { value } }) => setParameters({ seconds: value === '5' ? undefined : value })}
            >
              {SECONDS.map((it) => (
                <option key={it} value={String(it)}>
                  {it} s
                </option>
              ))}
            </select>
          </label>
        )}
        {running.value === undefined ? (
          <button type="button" class="primary" onClick={() => void take()}>
            Take a profile
          </button>
        ) : (
          <Progress running={running.value} onCancel={() => abort.current?.abort()} />
        )}
        <span class="grow" />
        {shown !== undefined && (
          <ProfileList
            label="Shown"
            profiles={profiles.value}
            chosen={shown}
            onChoose={(id) => setParameters({ profile: id })}
          />
        )}
        {others.length > 0 && (
          <ProfileList
            label="Compared with"
            none="none"
            profiles={others}
            chosen={base}
            onChoose={(id) => setParameters({ base: id === '' ? undefined : id })}
          />
        )}
      </div>
      {kind === 'heap' && <Sampling />}
      {failure.value !== undefined && <LoadFailure error={failure.value} />}
      {shown === undefined ? (
        <p class="empty">
          A profile shows which functions of the server take CPU time or memory. Choose what to look at and take one;
          the last ten are kept in this browser.
        </p>
      ) : (
        <ProfileView key={shown.id} profile={shown} base={base} />
      )}
    </div>
  );
}

interface ProfileListProps {
  readonly label: string;
  /** What no choice is called; undefined: one is always chosen. */
  readonly none?: string;
  readonly profiles: readonly KeptProfile[];
  readonly chosen: KeptProfile | undefined;
  readonly onChoose: (id: string) => void;
}

function ProfileList({ label, none, profiles, chosen, onChoose }: ProfileListProps) {
  return (
    <label class="row tight">
      {label}
      <select value={chosen?.id ?? ''} onChange={({ currentTarget: { value } }) => onChoose(value)}>
        {none !== undefined && <option value="">{none}</option>}
        {profiles.map((profile) => (
          <option key={profile.id} value={profile.id}>
            {nameOf(profile)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A profile that is being taken. */
interface RunningProfile {
  readonly kind: Kind;
  readonly startMs: number;
  readonly seconds: number;
}

const TICK_MS = 200;

function Progress({ running, onCancel }: { readonly running: RunningProfile; readonly onCancel: () => void }) {
  const { kind, startMs, seconds } = running;
  const elapsed = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => (elapsed.value = (performance.now() - startMs) / 1000), TICK_MS);
    return () => clearInterval(timer);
  }, [startMs]);
  const isTaken = kind === 'heap' || elapsed.value >= seconds;
  return (
    <div class="row tight">
      {isTaken ? (
        <progress aria-label="Joining the samples" />
      ) : (
        <progress aria-label="Taking the profile" max={seconds} value={elapsed.value} />
      )}
      <span class="progress-text">{isTaken ? 'joining…' : `${Math.floor(elapsed.value)} of ${seconds} s`}</span>
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}

/** Whether allocations are sampled, without which there is no profile of memory. */
function Sampling() {
  const node = chosenNode();
  const isActive = useSignal<boolean | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  const load = async (signal?: AbortSignal): Promise<void> => {
    try {
      const { active } = await requestJson<{ active: boolean }>('debug/prof/mem/status', {
        parameters: { node },
        signal,
      });
      isActive.value = active;
      failure.value = undefined;
    } catch (error) {
      if (!isAbort(error)) failure.value = error;
    }
  };
  useEffect(() => {
    const abort = new AbortController();
    void load(abort.signal);
    return () => abort.abort();
  }, [node]);
  const change = async (to: boolean): Promise<void> => {
    try {
      await request(`debug/prof/mem/${to ? 'activate' : 'deactivate'}`, { method: 'POST', parameters: { node } });
      await load();
    } catch (error) {
      failure.value = error;
    }
  };
  if (failure.value !== undefined) return <LoadFailure error={failure.value} onRetry={() => void load()} />;
  if (isActive.value === undefined) return null;
  return (
    <div class="row">
      <span role="status">
        {isActive.value
          ? 'Allocations are sampled.'
          : 'Allocations are not sampled. A profile of memory needs that, and sees objects that are created afterwards.'}
      </span>
      <button type="button" onClick={() => void change(isActive.value !== true)}>
        {isActive.value ? 'Stop sampling' : 'Start sampling'}
      </button>
    </div>
  );
}

async function takeProfile(kind: Kind, seconds: number, signal: AbortSignal): Promise<KeptProfile> {
  const node = chosenNode();
  const takenMs = Date.now();
  const [path, parameters] =
    kind === 'cpu'
      ? ['debug/prof/cpu', { seconds, frequency: FREQUENCY, output: 'json', node }]
      : ['debug/prof/mem', { output: 'json', node }];
  const data = await requestJson<FlameData & { readonly duration_ms: number }>(path, { parameters, signal });
  return { id: `${kind}-${takenMs}`, kind, node: node ?? '', takenMs, durationMs: data.duration_ms, data };
}

function nameOf({ kind, node, takenMs, durationMs }: KeptProfile): string {
  const time = civilText(civilOf(takenMs, zone.value));
  const what = kind === 'cpu' ? `CPU, ${Math.round(durationMs / 1000)} s` : 'memory';
  return `${time} ${what}${node === '' ? '' : `, node ${node}`}`;
}

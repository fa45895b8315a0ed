import './dashboards.css';

import { useSignal } from '@preact/signals';

import { linkTo, parameter } from '../../core/route.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { mayWrite } from '../../shell/available.js';
import { reloadCount } from '../../time/page-range.js';
import { lazyComponent } from '../../widgets/lazy.js';
import { DashboardView } from './dashboard-view.js';
import { parseDashboard } from './document.js';
import { NewDashboardForm } from './new-dashboard-form.js';
import { listDashboards, openDashboard, type StoredDashboard } from './stored-dashboards.js';

const ImportForm = lazyComponent(async () => (await import('./import/import-form.js')).ImportForm);

/** Saved dashboards: the list of them, or the one that the address names. */
export function DashboardsScreen() {
  const name = parameter('d');
  return name === '' ? <DashboardList /> : <NamedDashboard key={`${database()} ${name}`} name={name} />;
}

function DashboardList() {
  const { value, failure } = useLoaded(listDashboards, [database(), reloadCount.value]);
  const isImporting = useSignal(false);
  return (
    <div class="screen">
      <div class="row">
        <h1>Dashboards</h1>
        <span class="grow" />
        {mayWrite(database()) && (
          <button
            type="button"
            aria-expanded={isImporting.value}
            onClick={() => (isImporting.value = !isImporting.value)}
          >
            Import
          </button>
        )}
      </div>
      {isImporting.value && <ImportForm />}
      {failure !== '' && (
        <p class="error" role="alert">
          <bdi>{failure}</bdi>
        </p>
      )}
      {value === undefined && failure === '' && <p class="loading">Loading…</p>}
      {value?.length === 0 && (
        <p class="empty">
          A dashboard shows the results of several queries beside each other. Make one here, or import one of Grafana or
          Perses.
        </p>
      )}
      {value !== undefined && value.length > 0 && (
        <ul class="dashboard-list">
          {value.map((stored) => (
            <li key={stored.name}>
              <a href={linkTo('dashboards', { d: stored.name })}>
                <bdi>{titleOf(stored)}</bdi>
              </a>{' '}
              <bdi class="dim">{stored.name}</bdi>
            </li>
          ))}
        </ul>
      )}
      {mayWrite(database()) && <NewDashboardForm />}
    </div>
  );
}

function titleOf({ name, definition }: StoredDashboard): string {
  try {
    return parseDashboard(definition).title || name;
  } catch {
    // Clients may store what they like; the screen of the dashboard says what is wrong.
    return name;
  }
}

function NamedDashboard({ name }: { readonly name: string }) {
  const { value, failure } = useLoaded(async (signal) => openDashboard(name, signal), [name, database()]);
  if (failure !== '') {
    return (
      <div class="screen">
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <p class="error" role="alert">
          <bdi>{failure}</bdi>
        </p>
        <p>
          <a href={linkTo('dashboards')}>All dashboards</a>
        </p>
      </div>
    );
  }
  if (value === undefined) return <p class="loading">Loading…</p>;
  return <DashboardView name={name} stored={value} />;
}

import '../../style/data.css';
import './queries.css';

import { chosenTab, ScreenTabs, type TabEntry } from '../../widgets/tabs.js';
import { RunningQueries } from './running-queries.js';
import { SlowQueries } from './slow-queries.js';

const TABS: readonly TabEntry[] = [
  { name: 'running', title: 'Running' },
  { name: 'slow', title: 'Slow' },
];

/** What runs in all queriers now, and which queries took long before. */
export function QueriesScreen() {
  return (
    <div class="screen queries">
      <h1 class="visually-hidden">Queries</h1>
      <ScreenTabs label="Queries" tabs={TABS} />
      <div
        id="tab-panel"
        class="stack"
        role="tabpanel"
        aria-label={chosenTab(TABS) === 'slow' ? 'Slow' : 'Running'}
        tabIndex={-1}
      >
        {chosenTab(TABS) === 'slow' ? <SlowQueries /> : <RunningQueries />}
      </div>
    </div>
  );
}

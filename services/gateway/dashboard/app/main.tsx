import './style/base.css';

import { render } from 'preact';

import { Frame } from './shell/frame.js';
import { allScreens, readServerFacts } from './shell/available.js';
import { SCREENS } from './screens.js';

allScreens.value = SCREENS;
const root = document.getElementById('app');
if (root !== null) render(<Frame />, root);
readServerFacts();

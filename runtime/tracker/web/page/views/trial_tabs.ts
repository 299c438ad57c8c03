// The tabs of a trial's page besides Curves and Logs.
import type { ComponentType } from 'preact';
import type { Query } from '../route';
import type { TrialDescription } from '../types';
import { TrialInfo } from './trial_info';
import { TrialRuns } from './trial_runs';
import { TrialSystem } from './trial_system';

export interface TrialTab { key: string; title: string; View: ComponentType<{ trial: TrialDescription; query: Query }> }

export const trialTabs: TrialTab[] = [
  { key: 'runs', title: 'Runs', View: TrialRuns },
  { key: 'system', title: 'System', View: TrialSystem },
  { key: 'info', title: 'ClusterInfo', View: TrialInfo },
];

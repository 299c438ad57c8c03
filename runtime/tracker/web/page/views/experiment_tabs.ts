// The tabs of an experiment's page besides Curves and Trials.
import type { ComponentType } from 'preact';
import type { Query } from '../route';
import type { Experiment } from '../types';
import { ExperimentCheckpoints, ExperimentConfig } from './experiment_files';
import { ExperimentEvents } from './experiment_events';
import { ExperimentHyperparameters } from './experiment_hyperparameters';
import { ExperimentSearch } from './experiment_search';
import { ExperimentUsage } from './experiment_usage';

export interface ExperimentTab { key: string; title: string; View: ComponentType<{ experiment: Experiment; query: Query }> }

export const experimentTabs: ExperimentTab[] = [
  { key: 'hyperparameters', title: 'Hyperparameters', View: ExperimentHyperparameters },
  { key: 'search', title: 'Search', View: ExperimentSearch },
  { key: 'checkpoints', title: 'Checkpoints', View: ExperimentCheckpoints },
  { key: 'config', title: 'Configuration', View: ExperimentConfig },
  { key: 'usage', title: 'Usage', View: ExperimentUsage },
  { key: 'events', title: 'History', View: ExperimentEvents },
];

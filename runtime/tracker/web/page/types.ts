// The parts of the answers of the tracker's HTTP interface (submitter/cli/tracker/api/API.md) that the page uses.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
/** A number. JSON has no NaN and infinities: the tracker writes them as strings. */
export type WireNumber = number | 'NaN' | 'Infinity' | '-Infinity' | null;

export interface Answer<T> { answer: T; warnings: string }

export interface Searcher { name: string; metric: string; smaller_is_better: boolean }

export interface BestTrial { trial: string; value: number; steps_completed: number }

interface ExperimentHead {
  id: number;
  state: string;
  desired: string;
  job_id: string | null;
  job_ids: string[];
  started: string | null;
  ended: string | null;
  name?: string;
  description?: string;
  notes?: string;
  labels?: string[];
  archived?: boolean;
  owner?: string;
  parent_id?: number | null;
  created?: string;
  resource_pool?: string;
  nodes?: number;
  slots_per_node?: number;
  max_slots?: number | null;
  max_concurrent_trials?: number | null;
}

export interface ExperimentSummary extends ExperimentHead {
  trial_count: number;
  completed_trials: number;
  searcher?: Searcher;
  hyperparameters?: JsonObject;
  best: BestTrial | null;
  progress: number | null;
}

export interface Change { key: string; from: Json; to: Json }
export interface Continuation { time: string; by: string; revision: Json; trials: Json; changes: Change[] | null }

export interface Experiment extends ExperimentHead {
  trials: Trial[];
  config?: JsonObject;
  continuations: Continuation[];
}

export interface Run {
  run: number;
  started: string | null;
  hosts: string | null;
  nodes: number | null;
  slots: number | null;
  job: string | null;
  restart_count: number | null;
  latest_checkpoint: string | null;
  steps_completed: number | null;
  ended: string | null;
  cause: string | null;
  follow: string | null;
  exit_code: number | null;
  message: string | null;
  /** Of the supervisor: the run is idle. */
  alerts: Alert[];
  first_failure?: RankFailure | null;
}

export interface RankFailure {
  time: string;
  rank: number | null;
  host: string;
  exit_code: number;
  signal: number | null;
  setup: string | null;
  lost_peer: string | null;
  last_words: string;
}

export interface Trial {
  id: number;
  name: string;
  state: string;
  runs: Run[];
}

export interface TrialRow extends Trial {
  hyperparameters?: JsonObject;
  best_validation: { value: number; steps_completed: number } | null;
  bracket: number | null;
  rung: number | null;
  progress: number | null;
  /** What the search last decided about it: advance, stop or complete. */
  decision: string | null;
}

export interface Interruption {
  run: number;
  noticed: string | null;
  acknowledged: string | null;
  saved: string | null;
  ended: string | null;
  queued: string | null;
  started: string | null;
  trained: string | null;
}

export interface RankWait {
  rank: number;
  host: string | null;
  operations: number;
  seconds: number;
  seconds_in: { [operation: string]: number };
  waited_for: { rank: number; seconds: number }[];
}

export interface Waits {
  run: number;
  period_s: number;
  straggler: {
    rank: number; host: string | null; operation: string; waiting_ranks: number[]; seconds: number; share: number;
  } | null;
  ranks: RankWait[];
}

export interface Alert { time: string; level: string; title: string; description: string }

export interface TrialDescription extends Trial {
  progress: number | null;
  status: string | null;
  dropped_reports: number;
  alerts: Alert[];
  waits: Waits | null;
  interruptions: Interruption[];
  hyperparameters: JsonObject;
  experiment_id: number;
  decision: string | null;
  ends: { [cause: string]: number };
}

export interface MetricName { group: string; metric: string }

export interface Curve {
  run: number | null;
  points: number;
  steps: number[];
  times_us: number[];
  values: WireNumber[];
}
export interface Series { group: string; metric: string; curves: Curve[] }

export interface TrialCurve { trial: string; points: number; x: number[]; values: WireNumber[] }
export interface ExperimentSeries { group: string; metric: string; trials: TrialCurve[] }

export interface Checkpoint {
  trial_id: number;
  trial: string;
  run: number;
  steps_completed: number;
  time: string;
  state: string;
  metric: number | null;
  uuid: string;
  resources: { [file: string]: number };
  metadata: JsonObject;
}

export interface RungView {
  length: number;
  entries: { trial: number; metric: number | null }[];
  kept_trials: number;
  cut_off: number | null;
  stopped_trials: number;
}
export interface SearchView {
  id: number;
  state: string;
  searcher: string;
  metric: string;
  best_trial: { id: number; name: string; value: number; steps_completed: number } | null;
  progress: number | null;
  brackets: { trials: number; progress: number; rungs: RungView[] }[];
  decisions: {
    trial: number; bracket: number; rung: number; steps_completed: number; decision: string; entry: string;
    trials: string; time: string;
  }[];
  sampler?: SamplerDecision[];  // of a custom searcher
}

/** An answer of the program that searches, as recorded. */
export interface SamplerDecision {
  time: string; job: string; trial: number; question: string;
  hyperparameters: JsonObject | null;  // of the trial
  stop: string | null;  // why the search ends
  lengths: { [trial: string]: number };  // how far trials train
  close: number[];  // trials that end at their length
  prune: number[];  // trials that end now
}

export interface LogLine {
  run: number;
  node: number;
  rank: number | null;
  time: string | null;
  level: string | null;
  message: string;
}
export interface LogPiece { lines: LogLine[]; after: string; before: string; complete: boolean }

export interface NodeMetric { group: string; metric: string; points: number; last: WireNumber }

export interface ProfiledRun {
  run: number;
  nodes: {
    node: number; host: string;
    metrics: { group: string; name: string; device: string | null; unit: string; mean: number; max: number }[];
  }[];
  timings: { name: string; count: number; total_s: number; max_s: number }[];
}

export interface UsageReport {
  id: number;
  state: string;
  allocated_slot_s: number;
  uses: { [use: string]: number };
  causes: { use: string; cause: string; slot_s: number }[];
  queued_s: number | null;
  checkpoints: { count: number; size_bytes: number; blocked_s: number };
  utilisation: { [name: string]: number | null };
  allocations: {
    job: string; restart_count: number; submitted: string | null; started: string; ended: string;
    end_known_from: string; nodes: number; slots: number; slot_s: number; uses: { [use: string]: number };
    runs: string[];
  }[];
}

export interface Job {
  id: string;
  type: string;
  name: string;
  priority: number;
  nice: number;
  submitted: string | null;
  started: string | null;
  start_estimate: string | null;
  start_unknown_because?: string | null;
  slots_acquired: number;
  slots_needed: number;
  state: string;
  slurm_state: string;
  reason: string;
  reason_in_words: string;
  resource_pool: string;
  user: string;
  comment: string;
  experiment?: number | null;
}

export interface Pool {
  name: string;
  description: string;
  partition: string;
  is_up: boolean;
  default_compute: boolean;
  default_aux: boolean;
  slot_type: string;
  slots_per_node: number;
  slots: number;
  slots_used: number;
  slots_out: number;
  nodes: number;
  nodes_free: number;
  nodes_out: number;
  preempt_mode: string;
  grace_time_seconds: number;
  jobs_waiting: number;
  jobs_running: number;
}

export interface ClusterNode {
  name: string;
  partitions: string[];
  state: string;
  is_free: boolean;
  is_out: boolean;
  reason: string;
  cpus: number;
  cpus_used: number;
  gpus: number;
  gpus_used: number;
  jobs: { id: string; user: string; name: string; experiment: number | null }[];
}

export interface TrackerInfo {
  version?: string;
  host?: string;
  root?: string;
  /** The owner of the root. */
  owner?: string;
  /** Whether that is another user than the tracker's. */
  is_foreign?: boolean;
  home?: string;
  user?: string;
  /** Whether the page can act. */
  actions?: boolean;
  started?: string;
  index_error?: string | null;
}

export interface ActionRequest { action: string; target: string; value?: string; config?: string; paused?: boolean }
export interface Problem { severity: string; code: string; message: string; hint: string; file?: string; line?: number; column?: number }
/** What an action will do. confirmation: null if there are problems. */
export interface ActionPlan {
  confirmation: string | null;
  command?: string;
  summary?: string[];
  answer?: JsonObject | null;
  messages?: string;
  problems: Problem[];
}
export interface ActionResult { answer: JsonObject; messages: string }
/** A line of the history of an experiment: who did what. */
export interface ExperimentEvent { kind: string; time: string; by: string; body: JsonObject }

export interface ConfigOrigins { text: string }

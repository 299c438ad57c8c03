// What the tracker says about itself, for all views.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { TrackerInfo } from './types';

export const Tracker = createContext<TrackerInfo>({});

/** Whether the page can act: the tracker was started with --actions. */
export function useCanAct(): boolean {
  return useContext(Tracker).actions === true;
}

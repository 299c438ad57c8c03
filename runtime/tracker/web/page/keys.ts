// Keys that work in the whole page.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isForField } from './ui';

/** Calls `action` when `key` is pressed and no input field or dialog has the focus. */
export function useKey(key: string, action: () => void): void {
  const latest = useRef(action);
  latest.current = action;
  // Not useEffect, which waits for the next frame: a key that is pressed before it would be missed.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== key || isForField(event) || event.defaultPrevented) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [key]);
}

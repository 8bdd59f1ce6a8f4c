import type { Test } from 'tap'

/** Returns a function that adds tests to `t`, of which so many run at once: for tests that wait more than they compute. */
export function together(t: Test, atOnce: number) {
  t.jobs = atOnce
  return (name: string, test: (t: Test) => Promise<void>): void => void t.test(name, { buffered: true }, test)
}

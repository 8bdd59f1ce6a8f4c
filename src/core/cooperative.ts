/**
 * Long synchronous work that yields to the event loop every few milliseconds. The work is a generator: it yields a
 * promise to await it, or PAUSE to let other callbacks run. Work that never yields completes synchronously.
 */
import { isTurnOver, isTurnOverNow, waitForTurn } from './turns.ts'

export const PAUSE = Symbol('pause')

type Awaited = Promise<unknown> | typeof PAUSE

export type CooperativeTask<T> = Generator<Awaited, T, unknown>

export interface TimeSlice {
  /** Whether the task must yield. Reads the clock on every 32nd call only. */
  isOver(): boolean
  /** As `isOver`, but reads the clock on each call: for long steps. */
  isOverNow(): boolean
  restart(): void
}

export function createTimeSlice(): TimeSlice {
  return { isOver: isTurnOver, isOverNow: isTurnOverNow, restart: () => undefined }
}

/** Yields to the event loop. */
export function* pause(_slice: TimeSlice): CooperativeTask<void> {
  yield PAUSE
}

/** Runs a task; returns its value without a promise if the task never yields. */
export function runTask<T>(task: CooperativeTask<T>): T | Promise<T> {
  const step = task.next()
  return step.done ? step.value : runRest(task, step.value)
}

async function runRest<T>(task: CooperativeTask<T>, first: Awaited): Promise<T> {
  let awaited = first
  for (;;) {
    const step = await resume(task, awaited)
    if (step.done) return step.value
    awaited = step.value
  }
}

async function resume<T>(task: CooperativeTask<T>, awaited: Awaited): Promise<IteratorResult<Awaited, T>> {
  if (awaited === PAUSE) {
    await waitForTurn()
    return task.next()
  }
  const result = await awaited.then(
    (value) => ({ ok: true, value }) as const,
    (error: unknown) => ({ ok: false, error }) as const,
  )
  return result.ok ? task.next(result.value) : task.throw(result.error)
}

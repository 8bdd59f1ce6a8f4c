/**
 * Long synchronous work that yields to the event loop when its turn is over. The work is a generator: it yields a
 * promise to await it, or PAUSE to wait for a turn. Work that never yields completes synchronously.
 */
import { waitForTurn } from './turns.ts'

export const PAUSE = Symbol('pause')

type Awaited = Promise<unknown> | typeof PAUSE

export type CooperativeTask<T> = Generator<Awaited, T, unknown>

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

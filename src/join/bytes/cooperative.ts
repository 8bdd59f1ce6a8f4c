/**
 * Work that may take long, written as a generator: it yields a promise that it must wait for, or PAUSE, to let others
 * have their turn. Work that yields nothing is done at once.
 */
import { setImmediate } from 'node:timers/promises'

export const PAUSE = Symbol('pause')

type Wanted = Promise<unknown> | typeof PAUSE

export type Work<T> = Generator<Wanted, T, unknown>

/** No turn of the event loop is held for much longer than this. */
const MOST_MS = 4
/** The clock is looked at once in so many calls. */
const CALLS = 32

export interface Pace {
  /** Whether it is time to pause. */
  due(): boolean
  /** The turn begins anew. */
  begin(): void
}

export function createPace(): Pace {
  let calls = 0
  let since = performance.now()
  return {
    due: () => ++calls % CALLS === 0 && performance.now() - since > MOST_MS,
    begin() {
      since = performance.now()
    },
  }
}

export function run<T>(work: Work<T>): T | Promise<T> {
  const step = work.next()
  return step.done ? step.value : runOn(work, step.value)
}

async function runOn<T>(work: Work<T>, first: Wanted): Promise<T> {
  let wanted = first
  for (;;) {
    const step = await resume(work, wanted)
    if (step.done) return step.value
    wanted = step.value
  }
}

async function resume<T>(work: Work<T>, wanted: Wanted): Promise<IteratorResult<Wanted, T>> {
  if (wanted === PAUSE) {
    await setImmediate()
    return work.next()
  }
  const got = await wanted.then(
    (value) => ({ ok: true, value }) as const,
    (error: unknown) => ({ ok: false, error }) as const,
  )
  return got.ok ? work.next(got.value) : work.throw(got.error)
}

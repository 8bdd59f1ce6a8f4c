/** Counts the calls of functions with V8's precise coverage: a cost that does not depend on load. */
import { Session } from 'node:inspector/promises'

export interface CalledFunction {
  /** Of the file with its compiled code. */
  readonly url: string
  /** Empty: it has none. */
  readonly name: string
  /** The place in the compiled code of the file. */
  readonly offset: number
  readonly count: number
}

export interface CallCounter {
  /** Returns the functions that were called since the last time. */
  take(): Promise<readonly CalledFunction[]>
  stop(): void
}

/** Counts the calls in the whole process, until it is stopped. */
export async function countCalls(): Promise<CallCounter> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    take: async () => {
      const { result } = await session.post('Profiler.takePreciseCoverage')
      return result.flatMap(({ url, functions }) =>
        functions.flatMap(({ functionName: name, ranges: [range] }) =>
          range === undefined || range.count === 0 ? [] : { url, name, offset: range.startOffset, count: range.count },
        ),
      )
    },
    stop: () => session.disconnect(),
  }
}

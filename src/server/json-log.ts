/** `log.format: json`: lines to standard output, several with one write, which costs more than the answer to a hit. */
import { type DestinationStream, pino } from 'pino'

/** Bytes of lines that go out together, and milliseconds that they wait for it at most. */
const TOGETHER = 8192
const LONGEST = 100

export interface JsonLog {
  readonly stream: DestinationStream
  /** What waits goes out at once: the process ends. */
  flush(): void
}

export function jsonLog(): JsonLog {
  // Written by this thread: handing so little to another one takes longer than to write it.
  const stream = pino.destination({ dest: 1, sync: true, minLength: TOGETHER, periodicFlush: LONGEST })
  return { stream, flush: () => stream.flushSync() }
}

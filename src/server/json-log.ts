/** `log.format: json`: lines to standard output, several with one write, which costs more than the answer to a hit. */
import { type DestinationStream, pino } from 'pino'

/** Characters of lines that go out together, and milliseconds that they wait for it at most. */
const TOGETHER = 8192
const LONGEST = 100

export interface JsonLog {
  readonly stream: DestinationStream
  /** What waits goes out at once: the process ends. */
  flush(): void
}

export function jsonLog(): JsonLog {
  // Written by this thread: handing so little to another one takes longer than to write it.
  const out = pino.destination({ dest: 1, sync: true })
  // Gathered here: the destination would measure all that waits again with each line.
  let waiting = ''
  const flush = (): void => {
    const lines = waiting
    waiting = ''
    if (lines !== '') out.write(lines)
  }
  const write = (line: string): void => {
    waiting += line
    if (waiting.length >= TOGETHER) flush()
  }
  setInterval(flush, LONGEST).unref()
  return {
    stream: { write },
    flush: () => {
      flush()
      out.flushSync()
    },
  }
}

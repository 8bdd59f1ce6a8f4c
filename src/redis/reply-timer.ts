/**
 * Time limits for replies of Redis. They measure Redis, not this process: while the event loop is blocked, for example
 * by many first requests after a start, replies are in the socket but cannot be read.
 */
import type { Redis } from 'ioredis'

/** A time limit is this number of timers in a row. A block of the event loop delays one of them and uses up no other. */
const SLICES = 5

/** Calls `onTimeout` after `ms` milliseconds in which replies could be read. Returns a function that stops the timer. */
export function startReplyTimer(ms: number, onTimeout: () => void): () => void {
  let slices = SLICES
  let isStopped = false
  let timer = setTimeout(endSlice, ms / SLICES)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }

  function endSlice() {
    slices -= 1
    if (slices > 0) timer = setTimeout(endSlice, ms / SLICES)
    // Timers run before I/O: process the replies that are already there.
    else setImmediate(() => isStopped || onTimeout())
  }
}

/** Connections in a row that may prove to be silent before the time limit is at its longest, 2^n times the first. */
const MAX_DOUBLINGS = 2

/**
 * Returns a function that destroys a socket if data was written to it and nothing arrives for `ms` milliseconds. A slow
 * link looks like a dead one at first, and must not be cut again and again: each cut doubles the time for the next
 * socket, until the first reply on one of them is prompt.
 */
export function createSilenceGuard(ms: number): (socket: Redis['stream']) => void {
  let limit = ms
  const onCut = () => {
    limit = Math.min(2 * limit, ms * 2 ** MAX_DOUBLINGS)
  }
  const onPromptReply = () => {
    limit = ms
  }
  return (socket) => destroyIfSilent(socket, limit, { onCut, onPromptReply })
}

function destroyIfSilent(
  socket: Redis['stream'],
  ms: number,
  { onCut, onPromptReply }: { onCut: () => void; onPromptReply: () => void },
): void {
  let slices = 0
  const first = socket.bytesRead
  let received = first
  /** What had been written when data last arrived. */
  let written = socket.bytesWritten
  let silentSlices = 0
  const timer = setInterval(() => {
    const { bytesRead, bytesWritten } = socket
    slices += 1
    if (slices === 1 && bytesRead > first) onPromptReply()
    const isSilent = bytesRead === received && bytesWritten !== written
    silentSlices = isSilent ? silentSlices + 1 : 0
    if (!isSilent) {
      received = bytesRead
      written = bytesWritten
    } else if (silentSlices > SLICES) {
      onCut()
      socket.destroy(new Error(`no data from Redis for ${ms} ms`))
    }
  }, ms / SLICES)
  timer.unref()
  socket.once('close', () => clearInterval(timer))
}

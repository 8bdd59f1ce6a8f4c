/**
 * The end of a process of `node:cluster`, with the connections on their way to it. Node leaves a connection open until the
 * process confirms that it has taken the connection. If the process dies before, Node neither closes the connection nor
 * passes it on, so its client would wait forever. Node then also does not emit `disconnect`, with which it removes the
 * process. This module uses details of Node without documentation: the messages that pass a connection, and their
 * confirmations. If a release of Node changes them, only the connections that a dying process has not taken stay open.
 */
import type { Worker } from 'node:cluster'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'

interface Handle {
  close?(): void
}

interface InternalMessage {
  readonly seq?: number
  readonly ack?: number
}

/** The last messages of a process may arrive after its exit. They are read before `disconnect`, or within this time. */
const LAST_MESSAGES_MS = 200

/** Resolves to the signal, the exit code or the failed start of a process, after its last message, when its connections are closed. */
export async function endOf(worker: Worker): Promise<string> {
  const closeHandoffs = trackHandoffs(worker)
  const disconnected = new Promise<boolean>((resolve) => worker.once('disconnect', () => resolve(true)))
  const how = await new Promise<string>((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    worker.on('error', (error) => {
      // The system could not start the process, so `exit` does not follow. Other errors: a message to a dead process.
      if (worker.process.pid === undefined) resolve(error.message)
    })
  })
  const isDisconnected = await Promise.race([disconnected, wait(LAST_MESSAGES_MS, false)])
  // After a turn of the event loop: this process may have been busy, and not have read the messages yet.
  await turn()
  closeHandoffs()
  if (!isDisconnected) worker.process.emit('disconnect')
  return how
}

/** Returns a function that closes the connections that the process has not taken. */
function trackHandoffs({ process: child }: Pick<Worker, 'process'>): () => void {
  const pending = new Map<number, Handle>()
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  const track = (message: InternalMessage, handle?: Handle, ...rest: unknown[]): boolean => {
    if (handle && message.seq !== undefined) pending.set(message.seq, handle)
    return send(message, handle, ...rest)
  }
  child.send = track as typeof child.send
  child.on('internalMessage', ({ ack }: InternalMessage) => {
    if (ack !== undefined) pending.delete(ack)
  })
  return () => {
    for (const handle of pending.values()) handle.close?.()
    pending.clear()
  }
}

/** A process in front of a node: it can hang as the process of a node does, or accept connections in silence. */
import { once } from 'node:events'
import type { Test } from 'tap'
import type { Fault } from '../faults/proxy.ts'
import { forkScript } from './typescript/script.ts'

/** `stopped`: its process is stopped (SIGSTOP), so the kernel accepts connections. `silent`: no byte is passed on. */
export type Hang = 'stopped' | 'silent'

export interface NodeDoor {
  readonly url: string
  hang(how: Hang): Promise<void>
  recover(): Promise<void>
}

/** Starts the process, which ends with the test. */
export async function startNodeDoor(t: Pick<Test, 'teardown'>, url: string): Promise<NodeDoor> {
  const child = forkScript(new URL('node-door-child.ts', import.meta.url), [new URL(url).port])
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const [port] = await once(child, 'message')
  const set = async (fault: Fault) => {
    child.send(fault)
    await once(child, 'message')
  }
  return {
    url: `http://127.0.0.1:${port}`,
    hang: async (how) => (how === 'stopped' ? void child.kill('SIGSTOP') : set({ kind: 'stall' })),
    recover: async () => {
      child.kill('SIGCONT')
      await set({ kind: 'pass' })
    },
  }
}

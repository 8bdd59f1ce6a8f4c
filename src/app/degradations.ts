/** What is degraded besides the nodes and Redis, as `/readyz?verbose` lists it. */
import type { Degradation } from '../admin/listener.ts'

const details = {
  weakCredentials: 'the password of the account on the nodes (cluster.credentials) is easily guessed',
  configurationNotReloaded: 'the changed configuration has a fault; the last valid one is in use',
  mixedLayouts: 'nodes have different layouts, as during an upgrade; writes are refused',
} as const satisfies Partial<Record<Degradation['reason'], string>>

/** Returns the reasons that hold, with their details. */
export function degradations(holds: Readonly<Record<keyof typeof details, boolean>>): readonly Degradation[] {
  return Object.entries(details).flatMap(([name, detail]) => {
    const reason = name as keyof typeof details
    return holds[reason] ? [{ reason, detail }] : []
  })
}

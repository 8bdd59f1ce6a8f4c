/** Reads of agents: nine of ten for one of 20 agents, the tenth for any of 400. */
import { authorization } from './coherence/processes.ts'
import type { Random } from './coherence/random.ts'
import type { Call } from './suite/load.ts'

const HOT_AGENTS = 20
const ALL_AGENTS = 400

export function agentReads(replicas: readonly string[], random: Random): () => Call {
  return () => {
    const id = String(1 + random.below(random.chance(0.9) ? HOT_AGENTS : ALL_AGENTS)).padStart(3, '0')
    return {
      origin: random.of(replicas),
      path: `/agents/${id}`,
      headers: { authorization },
      verify: ({ status, text }) =>
        status === 200 && text.includes(`"id":"${id}"`) ? undefined : `${status} ${text.slice(0, 200)}`,
    }
  }
}

/** Reads of agents: nine of ten for one of 20 agents, the tenth for any of 400. */
import { authorization } from './coherence/processes.ts'
import type { Random } from './coherence/random.ts'
import type { Call } from './suite/load.ts'

const HOT_AGENTS = 20
const ALL_AGENTS = 400

const idOf = (agent: number) => String(agent).padStart(3, '0')
const HOT_PATHS: ReadonlySet<string> = new Set(Array.from({ length: HOT_AGENTS }, (_, at) => `/agents/${idOf(1 + at)}`))

/** Whether nine of ten requests are for such a path: its responses are stored again soon after a loss. */
export const isHot = ({ path }: Pick<Call, 'path'>): boolean => HOT_PATHS.has(path)

export function agentReads(replicas: readonly string[], random: Random): () => Call {
  return () => {
    const id = idOf(1 + random.below(random.chance(0.9) ? HOT_AGENTS : ALL_AGENTS))
    return {
      origin: random.of(replicas),
      path: `/agents/${id}`,
      headers: { authorization },
      verify: ({ status, text }) =>
        status === 200 && text.includes(`"id":"${id}"`) ? undefined : `${status} ${text.slice(0, 200)}`,
    }
  }
}

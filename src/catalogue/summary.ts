/** Summaries over all agents. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { objectOf } from './schemas/answers.ts'
import { keepIn, memberships } from './schemas/tags.ts'
import { master } from './schemas/targets.ts'

export const summary: readonly Endpoint[] = [
  read({
    path: '/summary/agents',
    summary: 'Summary of all agents',
    section: 'Summary',
    permission: 'summary:read',
    target: master,
    response: objectOf('{nodes, groups, agent_os, agent_status, agent_version, last_registered_agent}'),
    cache: keepIn('summary', ...memberships),
  }),
]

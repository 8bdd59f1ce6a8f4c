/** Records of rows of all agents. */
import type { Endpoint } from '../endpoint.ts'
import { agentsList, agentsOrAll, rows, select } from './params.ts'
import { cacheIn, master, read, write } from './record.ts'
import { integer, param, text } from './values.ts'

export const experimental: readonly Endpoint[] = [
  write('DELETE', {
    path: '/experimental/rootcheck',
    section: 'Experimental',
    summary: 'Clear the rootcheck results of agents',
    permission: 'rootcheck:clear',
    rights: ['rootcheck:clear on agent:id:{agent_list}'],
    experimental: true,
    target: master('several'),
    withoutLost: {
      list: 'agents_list',
      message: 'Rootcheck database was not cleared on some agents',
      leftOut: 'every',
    },
    query: { agents_list: agentsOrAll },
    invalidates: ['rootcheck:*'],
  }),
  write('DELETE', {
    path: '/experimental/syscheck',
    section: 'Experimental',
    summary: 'Clear the syscheck results of agents',
    permission: 'syscheck:clear',
    rights: ['syscheck:clear on agent:id:{agent_list}'],
    experimental: true,
    target: master('several'),
    withoutLost: { list: 'agents_list', message: 'Syscheck database was not cleared on some agents', leftOut: 'every' },
    query: { agents_list: agentsOrAll },
    invalidates: ['syscheck:*'],
  }),
  read({
    path: '/experimental/ciscat/results',
    section: 'Experimental',
    summary: 'List the CIS-CAT results of agents',
    permission: 'ciscat:read',
    rights: ['ciscat:read on agent:id:{agent_list}'],
    experimental: true,
    target: master('several'),
    withoutLost: { list: 'agents_list', message: 'Some CISCAT results were not returned' },
    query: {
      ...rows,
      agents_list: agentsList,
      select,
      benchmark: param('benchmark', text('alphanumeric')),
      profile: param('profile', text('alphanumeric')),
      pass: param('number of passed checks', integer({ minimum: 0 })),
      fail: param('number of failed checks', integer({ minimum: 0 })),
      error: param('number of checks with an error', integer({ minimum: 0 })),
      notchecked: param('number of checks that were not run', integer({ minimum: 0 })),
      unknown: param('number of checks with an unknown result', integer()),
      score: param('score', integer({ minimum: 0 })),
    },
    cache: cacheIn('ciscat', 'collection:ciscat', 'ciscat:*'),
  }),
]

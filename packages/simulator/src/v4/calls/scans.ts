/** The calls about scans of agents. */
import type { Call } from '../model.ts'
import { isoOf, zuluOf } from '../rows.ts'
import { clearMany, clearOne, files, lastScan, policyFindings, run, type Scan } from './scan-rows.ts'

const inPath = { in: 'path', as: 'agent_id' } as const
const inQuery = { in: 'query', as: 'agents_list' } as const

function callsOf(scan: Scan, name: string, format: (stamp: string) => string): Call[] {
  const agent = { runs: 'owner' } as const
  const need = (action: 'read' | 'clear' | 'run', named: typeof inPath | typeof inQuery) => {
    return [{ action: `${scan}:${action}`, type: 'agent:id', named } as const]
  }
  const cleared = {
    all: `${name} database was cleared on returned agents`,
    some: `${name} database was not cleared on some agents`,
    none: `No ${scan} database was cleared`,
  }
  return [
    {
      method: 'GET',
      path: `/${scan}/{agent_id}/last_scan`,
      ...agent,
      needs: need('read', inPath),
      texts: { all: `Last ${scan} scan of the agent was returned`, some: '', none: '' },
      run: lastScan(format),
    },
    {
      method: 'PUT',
      path: `/${scan}`,
      runs: 'owners',
      needs: need('run', inQuery),
      texts: {
        all: `${name} scan was restarted on returned agents`,
        some: `${name} scan was not restarted on some agents`,
        none: `No ${scan} scan was restarted`,
      },
      run,
    },
    {
      method: 'DELETE',
      path: `/${scan}/{agent_id}`,
      ...agent,
      needs: need('clear', inPath),
      texts: cleared,
      run: clearOne(scan),
    },
    {
      method: 'DELETE',
      path: `/experimental/${scan}`,
      runs: 'owners',
      needs: need('clear', inQuery),
      texts: cleared,
      run: clearMany(scan),
    },
  ]
}

export const scanCalls: readonly Call[] = [
  ...callsOf('syscheck', 'Syscheck', isoOf),
  ...callsOf('rootcheck', 'Rootcheck', zuluOf),
  {
    method: 'GET',
    path: '/syscheck/{agent_id}',
    runs: 'owner',
    needs: [{ action: 'syscheck:read', type: 'agent:id', named: inPath }],
    texts: {
      all: 'FIM findings of the agent were returned',
      some: 'No FIM information was returned',
      none: 'No FIM information was returned',
    },
    cost: 50,
    hangsOver: 3000,
    run: files,
  },
  {
    method: 'GET',
    path: '/rootcheck/{agent_id}',
    runs: 'owner',
    needs: [{ action: 'rootcheck:read', type: 'agent:id', named: inPath }],
    texts: {
      all: 'All selected rootcheck information was returned',
      some: 'No rootcheck information was returned',
      none: 'No rootcheck information was returned',
    },
    run: policyFindings,
  },
]

/** Which fields nodes have lost depends on their release, so one collection has a source for each release. */
import t from 'tap'
import { rowSourceOf } from '../../../../src/cache/snapshots/derivation.ts'
import { v4Contract } from '../../../../src/contracts/v4/index.ts'
import type { EdgeRead } from '../../../../src/core/request.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'

t.test('the fields of one release are not those of another', async (t) => {
  const endpoint = v4Contract.find(({ method, path }) => method === 'GET' && path === '/agents')
  const request = { ...edgeRequest('GET', '/agents'), endpoint } as EdgeRead
  const has = (...lost: string[]) => {
    const reads = { rowsPerCall: 1000, joinsAgents: true, convertsRows: true, lostFields: new Set(lost) }
    const source = rowSourceOf(request, reads)
    const fields = source?.engine === 'database' ? source.fields : {}
    return ['manager', 'node_name'].filter((name) => Object.hasOwn(fields, name))
  }
  t.strictSame([has('manager'), has('node_name'), has()], [['node_name'], ['manager'], ['manager', 'node_name']])
})

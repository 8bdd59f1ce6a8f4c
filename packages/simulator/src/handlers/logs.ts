/** The main log of a node. */
import { sources } from '../../../../src/collections/sources.ts'
import { logEntries, summarise } from '../data/node/log.ts'
import { pageOf } from '../data/page.ts'
import type { SimHandlers } from '../model.ts'

export const logHandlers: SimHandlers = {
  'GET /manager/logs': (request) => pageOf(logEntries(request.world, request.node), request, sources.logs),
  'GET /manager/logs/summary': ({ world, node }) => summarise(logEntries(world, node)),
}

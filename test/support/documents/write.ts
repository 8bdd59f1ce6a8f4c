/** Writes the generated documents: `npm run docs:reference`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { PRICES_DOCUMENT, withNewReads } from '../../system/joined/read-prices.ts'
import { readOptions } from '../script-options.ts'
import { configurationReference } from './configuration.ts'
import { errorReference } from './errors.ts'
import { METRICS_DOCUMENT, withNewMetrics } from './metrics.ts'
import { OPERATION_IDS, withNewOperations } from './operation-ids.ts'
import {
  SIMULATED_OPERATIONS,
  SIMULATED_OPERATIONS_OF_5,
  simulatedOperations,
  simulatedOperationsOf5,
} from './simulated-operations.ts'
import { V3_CLIENTS, v3ClientsReference } from './v3-clients.ts'

readOptions({
  name: 'docs:reference',
  purpose: `Writes docs/configuration.md, docs/errors.md and ${V3_CLIENTS} from the code and ${SIMULATED_OPERATIONS} from the facts of the v4 contract, and adds new operations to ${OPERATION_IDS}, new metrics to ${METRICS_DOCUMENT} and new reads to ${PRICES_DOCUMENT}.`,
  options: {},
})
writeFileSync('docs/configuration.md', configurationReference())
writeFileSync('docs/errors.md', errorReference())
writeFileSync(V3_CLIENTS, v3ClientsReference())
writeFileSync(METRICS_DOCUMENT, withNewMetrics(readFileSync(METRICS_DOCUMENT, 'utf8')))
writeFileSync(PRICES_DOCUMENT, withNewReads(readFileSync(PRICES_DOCUMENT, 'utf8')))
writeFileSync(SIMULATED_OPERATIONS, simulatedOperations())
writeFileSync(SIMULATED_OPERATIONS_OF_5, simulatedOperationsOf5())
const pinned = readFileSync(OPERATION_IDS, 'utf8').trim().split('\n')
writeFileSync(OPERATION_IDS, `${withNewOperations(pinned).join('\n')}\n`)

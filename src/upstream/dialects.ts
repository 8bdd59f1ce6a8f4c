/** How contracts and layouts meet: the dialect of the contract of a request, for the layout of a node. */

import type { Contract } from '../contracts/endpoint.ts'
import type { Layout } from '../core/node-call.ts'
import type { Dialect } from '../layouts/dialect.ts'
import { v3 } from '../layouts/v3.ts'
import { v4 } from '../layouts/v4/index.ts'
import { refused, v4Contract } from '../layouts/v4-contract.ts'

export const dialects: Readonly<Record<Contract, Readonly<Record<Layout, Dialect>>>> = {
  v3: { v3, v4 },
  v4: { v3: refused, v4: v4Contract },
}

/** The layout whose dialect asks while that of the node is not known. The node gets no call until then (`stack.ts`). */
export const layoutsBeforeRecognition: Readonly<Record<Contract, Layout>> = { v3: 'v3', v4: 'v4' }

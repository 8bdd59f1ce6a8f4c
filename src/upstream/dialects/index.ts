import type { Layout } from '../../core/node-call.ts'
import { classic } from './classic.ts'
import type { Dialect } from './dialect.ts'
import { newer } from './newer/index.ts'

/** The dialect of each layout. */
export const dialects: Readonly<Record<Layout, Dialect>> = { classic, newer }

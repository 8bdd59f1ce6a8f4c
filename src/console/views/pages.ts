/** Pages of a long list, fetched as they come into sight. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EntryLine, EntryPage } from '../../operations/console/answers/cache.ts'
import { ask } from '../api.ts'

export interface EntryFilter extends Record<string, string> {
  readonly search: string
  readonly group: string
  readonly endpoint: string
  readonly tag: string
  readonly scope: string
  readonly sort: string
}

export interface Summary {
  readonly total?: number
  readonly all: number
  readonly size: number
  readonly age: number
  readonly fault?: string
}

const PAGE = 100
/** Held at once, those that were fetched first go. */
const HELD = 20
const EVERY = 10_000
const none: Summary = { all: 0, size: 0, age: 0 }

export function usePages(
  filter: EntryFilter,
  changes: number,
): { readonly summary: Summary; row(at: number): EntryLine | undefined } {
  const [summary, setSummary] = useState<Summary>(none)
  const pages = useRef(new Map<number, readonly EntryLine[]>())
  const asked = useRef(new Set<number>())
  const shown = useRef(0)
  const text = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== '')).toString()
  const current = useRef(text)
  current.current = text
  const fetchPage = async (page: number): Promise<void> => {
    if (asked.current.has(page)) return
    asked.current.add(page)
    try {
      const found = await ask<EntryPage>(`/api/entries?${text}&offset=${page * PAGE}&limit=${PAGE}`)
      if (current.current !== text) return
      pages.current.delete(page)
      pages.current.set(page, found.items)
      for (const oldest of pages.current.keys()) if (pages.current.size > HELD) pages.current.delete(oldest)
      setSummary({ total: found.total, all: found.all, size: found.bytes, age: found.age })
    } catch (fault) {
      if (current.current === text) setSummary((before) => ({ ...before, fault: (fault as Error).message }))
    } finally {
      asked.current.delete(page)
    }
  }
  // anew for another question, or after a purge
  useEffect(() => {
    pages.current.clear()
    asked.current.clear()
    shown.current = 0
    void fetchPage(0)
    const timer = setInterval(() => void (document.hidden || fetchPage(shown.current)), EVERY)
    return () => clearInterval(timer)
  }, [text, changes])
  return {
    summary,
    row(at) {
      const page = Math.floor(at / PAGE)
      const held = pages.current.get(page)
      shown.current = page
      if (held === undefined) void fetchPage(page)
      return held?.[at % PAGE]
    },
  }
}

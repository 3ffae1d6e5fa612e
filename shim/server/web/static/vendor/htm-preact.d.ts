export { createContext, h, render } from "preact";
export { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChild, VNode } from "preact";

export type Node = VNode<any>;
export type Child = ComponentChild;

/** What a template makes: an element, or for several at its top a list that is one where Preact takes it. */
export function html(strings: TemplateStringsArray, ...values: any[]): VNode<any>;

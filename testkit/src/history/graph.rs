//! A directed graph with reasons on its edges, and the search for a short cycle.

use std::collections::VecDeque;
use std::fmt::Display;

/// So many nodes are tried for a short cycle through them.
const STARTS_MAX: usize = 200;

/// Nodes are numbers; an edge says "before".
#[derive(Debug, Clone)]
pub struct Graph<R> {
    edges: Vec<Vec<(usize, R)>>,
}

impl<R: Clone + Display> Graph<R> {
    /// A graph of so many nodes.
    pub fn new(nodes: usize) -> Graph<R> {
        Graph { edges: vec![Vec::new(); nodes] }
    }

    /// One node more; its number.
    pub fn add(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    /// One comes before another, for a reason. An edge to itself is left out.
    pub fn before(&mut self, first: usize, then: usize, reason: R) {
        if first != then {
            self.edges[first].push((then, reason));
        }
    }

    /// A cycle if there is one, a short one: each node with the reason why it comes before the next.
    pub fn cycle(&self) -> Option<Vec<(usize, R)>> {
        let left = self.left_after_peeling();
        let starts: Vec<usize> = (0..self.edges.len()).filter(|n| left[*n]).collect();
        // What is left may lead to cycles without being on one: many are tried, the shortest wins.
        let step = starts.len().div_ceil(STARTS_MAX).max(1);
        let found = starts.iter().step_by(step).filter_map(|n| self.cycle_through(*n, &left));
        let found = found.min_by_key(Vec::len);
        found.or_else(|| starts.iter().find_map(|n| self.cycle_through(*n, &left)))
    }

    /// Nodes that are left when those without a predecessor or a successor are taken away again and again.
    fn left_after_peeling(&self) -> Vec<bool> {
        let count = self.edges.len();
        let mut reverse = vec![Vec::new(); count];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|(to, _)| reverse[*to].push(from));
        }
        let mut left = vec![true; count];
        let mut incoming: Vec<usize> = reverse.iter().map(Vec::len).collect();
        let mut outgoing: Vec<usize> = self.edges.iter().map(Vec::len).collect();
        let mut free: Vec<usize> =
            (0..count).filter(|n| incoming[*n] == 0 || outgoing[*n] == 0).collect();
        while let Some(node) = free.pop() {
            if !std::mem::replace(&mut left[node], false) {
                continue;
            }
            for (to, _) in &self.edges[node] {
                incoming[*to] -= 1;
                if incoming[*to] == 0 {
                    free.push(*to);
                }
            }
            for from in &reverse[node] {
                outgoing[*from] -= 1;
                if outgoing[*from] == 0 {
                    free.push(*from);
                }
            }
        }
        left
    }

    /// The shortest way from a node back to itself among the nodes that are left.
    fn cycle_through(&self, start: usize, left: &[bool]) -> Option<Vec<(usize, R)>> {
        let mut came: Vec<Option<(usize, usize)>> = vec![None; self.edges.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for (number, (to, _)) in self.edges[node].iter().enumerate() {
                if !left[*to] || came[*to].is_some() {
                    continue;
                }
                came[*to] = Some((node, number));
                if *to == start {
                    return Some(self.way_back(start, &came));
                }
                queue.push_back(*to);
            }
        }
        None
    }

    fn way_back(&self, start: usize, came: &[Option<(usize, usize)>]) -> Vec<(usize, R)> {
        let mut way = Vec::new();
        let mut at = start;
        while let Some((from, number)) = came[at] {
            way.push((from, self.edges[from][number].1.clone()));
            at = from;
            if at == start {
                break;
            }
        }
        way.reverse();
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_short_cuts_has_no_cycle() {
        let mut graph = Graph::new(50);
        for n in 0..49 {
            graph.before(n, n + 1, "next");
            graph.before(n / 2, n + 1, "short cut");
            graph.before(n, n, "self");
        }
        assert_eq!(graph.cycle(), None);
    }

    #[test]
    fn the_shortest_cycle_is_found_among_long_ways() {
        let mut graph = Graph::new(100);
        for n in 0..99 {
            graph.before(n, n + 1, "next");
        }
        graph.before(99, 0, "round");
        graph.before(42, 40, "back");
        let cycle = graph.cycle().unwrap();
        assert_eq!(cycle.len(), 3);
        assert!(cycle.contains(&(42, "back")) && cycle.contains(&(40, "next")));
        let more = graph.add();
        assert_eq!(more, 100);
    }
}

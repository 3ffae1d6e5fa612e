import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.tez.client.TezClient;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.Edge;
import org.apache.tez.dag.api.ProcessorDescriptor;
import org.apache.tez.dag.api.TezConfiguration;
import org.apache.tez.dag.api.Vertex;
import org.apache.tez.dag.api.client.DAGClient;
import org.apache.tez.dag.api.client.DAGStatus;
import org.apache.tez.runtime.library.conf.OrderedPartitionedKVEdgeConfig;
import org.apache.tez.runtime.library.partitioner.HashPartitioner;
import org.apache.tez.runtime.library.processor.SleepProcessor;

/**
 * Opens a session for each DAG, and submits all DAGs together once every ApplicationMaster is ready: SessionsAtOnce
 * NAME VERTEX:TASKS:MILLISECONDS:MIB,... FROM-TO,... (or -), the three for each DAG. Prints how long each took.
 */
public final class SessionsAtOnce {
  private SessionsAtOnce() {
  }

  private static DAG dag(TezConfiguration settings, String name, String stages, String needs) {
    DAG dag = DAG.create(name);
    Map<String, Vertex> vertices = new HashMap<>();
    for (String each : stages.split(",")) {
      String[] parts = each.split(":");
      SleepProcessor.SleepProcessorConfig sleep = new SleepProcessor.SleepProcessorConfig(Integer.parseInt(parts[2]));
      ProcessorDescriptor task = ProcessorDescriptor.create(SleepProcessor.class.getName());
      task.setUserPayload(sleep.toUserPayload());
      Resource size = Resource.newInstance(Integer.parseInt(parts[3]), 1);
      Vertex vertex = Vertex.create(parts[0], task, Integer.parseInt(parts[1]), size);
      vertices.put(parts[0], vertex);
      dag.addVertex(vertex);
    }
    OrderedPartitionedKVEdgeConfig edge = OrderedPartitionedKVEdgeConfig
        .newBuilder(Text.class.getName(), IntWritable.class.getName(), HashPartitioner.class.getName())
        .setFromConfiguration(settings).build();
    for (String each : needs.equals("-") ? new String[0] : needs.split(",")) {
      String[] ends = each.split("-");
      dag.addEdge(Edge.create(vertices.get(ends[0]), vertices.get(ends[1]), edge.createDefaultEdgeProperty()));
    }
    return dag;
  }

  public static void main(String[] arguments) throws Exception {
    TezConfiguration settings = new TezConfiguration();
    List<TezClient> sessions = new ArrayList<>();
    boolean isWell = true;
    try {
      for (int at = 0; at < arguments.length; at += 3) {
        TezClient session = TezClient.create(arguments[at], settings, true);
        sessions.add(session);
        session.start();
      }
      for (TezClient session : sessions) {
        session.waitTillReady();
      }
      long beganAt = System.nanoTime();
      Map<String, DAGClient> running = new HashMap<>();
      for (int at = 0; at < arguments.length; at += 3) {
        DAG next = dag(settings, arguments[at], arguments[at + 1], arguments[at + 2]);
        running.put(arguments[at], sessions.get(at / 3).submitDAG(next));
      }
      while (!running.isEmpty()) {
        Thread.sleep(200);
        for (String name : new ArrayList<>(running.keySet())) {
          DAGStatus status = running.get(name).getDAGStatus(null);
          if (status.isCompleted()) {
            running.remove(name);
            System.out.println(name + " took " + (System.nanoTime() - beganAt) / 1_000_000 + " ms");
            isWell &= status.getState() == DAGStatus.State.SUCCEEDED;
          }
        }
      }
    } finally {
      for (TezClient session : sessions) {
        session.stop();
      }
    }
    System.exit(isWell ? 0 : 1);
  }
}

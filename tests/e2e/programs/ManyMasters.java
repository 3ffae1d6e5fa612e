import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceSizing;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint;
import org.apache.hadoop.yarn.api.resource.PlacementConstraints;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * The programs of many ApplicationMasters in one JVM. The container of each is a shell that brings its token here and
 * waits: `NAME SCHEDULER TOKENS FIRST_STEP MIB VCORES SECONDS,SECONDS,... [TAG [MOST:TAG ...]]`. With a tag it asks as
 * a service does: on each node at most so many containers with another tag, of any application. Prints what came when,
 * in seconds of the epoch.
 */
public final class ManyMasters {
  private static final int BACKLOG = 200;

  public static void main(String[] arguments) throws Exception {
    long beatMs = Long.parseLong(arguments[0]);
    String starts = arguments[1];
    Configuration configuration = new YarnConfiguration();
    UserGroupInformation.setConfiguration(configuration);
    try (ServerSocket server = new ServerSocket(0, BACKLOG, InetAddress.getByName(arguments[2]))) {
      System.out.println("listens " + server.getLocalPort());
      while (true) {
        Socket socket = server.accept();
        new Thread(() -> serve(socket, configuration, beatMs, starts)).start();
      }
    }
  }

  private static void serve(Socket socket, Configuration base, long beatMs, String starts) {
    try (socket) {
      BufferedReader reader =
          new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
      String[] words = reader.readLine().split(" ");
      int status = 0;
      try {
        Configuration configuration = new YarnConfiguration(base);
        configuration.set(YarnConfiguration.RM_SCHEDULER_ADDRESS, words[1]);
        UserGroupInformation user = UserGroupInformation.createRemoteUser(words[0]);
        user.addCredentials(Credentials.readTokenStorageFile(new File(words[2]), configuration));
        Resource size = Resource.newInstance(Integer.parseInt(words[4]), Integer.parseInt(words[5]));
        Master master = new Master(words, configuration, beatMs, starts, size);
        print("begun " + words[0] + " " + words[3]);
        user.doAs((PrivilegedExceptionAction<Void>) master::run);
      } catch (Exception failure) {
        status = 1;
        failure.printStackTrace();
        print("failed " + words[0] + " 0");
      }
      socket.getOutputStream().write((status + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException gone) {
      gone.printStackTrace(); // its container was killed
    }
  }

  static synchronized void print(String line) {
    System.out.println(line);
    System.out.flush();
  }

  static String now() {
    return String.format("%.3f", System.currentTimeMillis() / 1000.0);
  }

  /** One attempt: asks for a container for each task, and beats until the last has ended. */
  private static final class Master {
    private final String name;
    private final long beatMs;
    private final String starts;
    private final Resource size;
    private final Deque<Integer> waiting = new ArrayDeque<>();
    private final String[] seconds;
    private final String[] placement;
    private final Deque<ContainerRequest> open = new ArrayDeque<>();
    private final Map<ContainerId, Integer> running = new HashMap<>();
    private final AMRMClient<ContainerRequest> scheduler = AMRMClient.createAMRMClient();
    private final NMClient nodes = NMClient.createNMClient();
    private int ended;

    Master(String[] words, Configuration configuration, long beatMs, String starts, Resource size) {
      this.name = words[0];
      this.beatMs = beatMs;
      this.starts = starts;
      this.size = size;
      this.seconds = words[6].split(",");
      this.placement = Arrays.copyOfRange(words, 7, words.length);
      NMTokenCache tokens = new NMTokenCache(); // not the one of the whole JVM
      scheduler.setNMTokenCache(tokens);
      nodes.setNMTokenCache(tokens);
      scheduler.init(configuration);
      nodes.init(configuration);
    }

    Void run() throws Exception {
      scheduler.start();
      nodes.start();
      try {
        scheduler.registerApplicationMaster("localhost", 0, "");
        print("registered " + name + " " + now());
        for (int task = 0; task < seconds.length; task++) {
          waiting.add(task);
        }
        ask();
        beat();
        while (ended < seconds.length) {
          Thread.sleep(beatMs);
          beat();
        }
        print("done " + name + " " + now());
        scheduler.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
        print("finished " + name + " " + now());
      } finally {
        nodes.stop();
        scheduler.stop();
      }
      return null;
    }

    private void ask() {
      if (placement.length == 0) {
        for (int task = 0; task < seconds.length; task++) {
          ContainerRequest request = new ContainerRequest(size, null, null, Priority.newInstance(1));
          open.add(request);
          scheduler.addContainerRequest(request);
        }
        return;
      }
      PlacementConstraint.AbstractConstraint[] bounds =
          Arrays.stream(placement).skip(1).map(Master::bound).toArray(PlacementConstraint.AbstractConstraint[]::new);
      scheduler.addSchedulingRequests(
          Collections.singletonList(
              SchedulingRequest.newInstance(
                  1,
                  Priority.newInstance(1),
                  ExecutionTypeRequest.newInstance(),
                  Collections.singleton(placement[0]),
                  ResourceSizing.newInstance(seconds.length, size),
                  bounds.length == 0 ? null : PlacementConstraints.and(bounds).build())));
    }

    private static PlacementConstraint.AbstractConstraint bound(String word) {
      String[] told = word.split(":");
      return PlacementConstraints.targetCardinality(
          PlacementConstraints.NODE,
          0,
          Integer.parseInt(told[0]),
          PlacementConstraints.PlacementTargets.allocationTagWithNamespace("all", told[1]));
    }

    private void beat() throws Exception {
      var answer = scheduler.allocate((float) ended / seconds.length);
      for (ContainerStatus status : answer.getCompletedContainersStatuses()) {
        if (running.remove(status.getContainerId()) == null) {
          continue; // given back
        }
        if (status.getExitStatus() != 0) {
          throw new IOException(status.toString());
        }
        ended++;
      }
      for (Container container : answer.getAllocatedContainers()) {
        use(container);
      }
    }

    private void use(Container container) throws Exception {
      if (waiting.isEmpty()) {
        print("surplus " + name + " " + now());
        scheduler.releaseAssignedContainer(container.getId());
        return;
      }
      int task = waiting.remove();
      if (!open.isEmpty()) {
        scheduler.removeContainerRequest(open.remove());
      }
      running.put(container.getId(), task);
      String command =
          String.format("echo %s %d $EPOCHREALTIME >> %s && exec sleep %s", name, task, starts, seconds[task]);
      print("launch " + name + " " + now() + " " + task + " " + container.getId() + " " + container.getNodeId());
      nodes.startContainer(
          container,
          ContainerLaunchContext.newInstance(null, null, Collections.singletonList(command), null, null, null));
    }
  }
}

import java.io.File;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.RejectedSchedulingRequest;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceSizing;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint;
import org.apache.hadoop.yarn.api.resource.PlacementConstraints;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * An ApplicationMaster that asks for containers of which no two may be on one node. It gives one back when a file
 * appears, and ends when all that it asked for was granted or rejected, or after its beats.
 */
public final class ConstrainedMaster {
  private static final long BEAT_MS = 200;

  public static void main(String[] arguments) throws Exception {
    int wanted = Integer.parseInt(arguments[0]);
    int mostBeats = Integer.parseInt(arguments[1]);
    File go = new File(arguments[2]);
    Deque<Container> held = new ArrayDeque<>();
    int granted = 0;
    int rejected = 0;
    boolean isGivenBack = false;
    try (AMRMClient<ContainerRequest> master = AMRMClient.createAMRMClient()) {
      master.init(new YarnConfiguration());
      master.start();
      master.registerApplicationMaster("localhost", 0, "");
      PlacementConstraint apart =
          PlacementConstraints.targetNotIn(
                  PlacementConstraints.NODE, PlacementConstraints.PlacementTargets.allocationTag("web"))
              .build();
      SchedulingRequest request =
          SchedulingRequest.newInstance(
              7,
              Priority.newInstance(3),
              ExecutionTypeRequest.newInstance(),
              Collections.singleton("web"),
              ResourceSizing.newInstance(wanted, Resource.newInstance(128, 1)),
              apart);
      master.addSchedulingRequests(Collections.singletonList(request));
      for (int beat = 0; granted + rejected < wanted && beat < mostBeats; beat++) {
        AllocateResponse answer = master.allocate(0.5f);
        for (Container container : answer.getAllocatedContainers()) {
          granted++;
          held.add(container);
          System.out.println(
              "granted " + container.getId() + " on " + container.getNodeId()
                  + " tags " + container.getAllocationTags());
        }
        for (RejectedSchedulingRequest each : answer.getRejectedSchedulingRequests()) {
          int count = each.getRequest().getResourceSizing().getNumAllocations();
          rejected += count;
          System.out.println("rejected " + count + " " + each.getReason());
        }
        for (ContainerStatus ended : answer.getCompletedContainersStatuses()) {
          System.out.println("ended " + ended.getContainerId() + " " + ended.getExitStatus());
        }
        if (go.exists() && !isGivenBack) {
          isGivenBack = true;
          master.releaseAssignedContainer(held.remove().getId());
        }
        Thread.sleep(BEAT_MS);
      }
      master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "as asked", "");
      System.out.println("granted in all " + granted + " rejected in all " + rejected);
    }
  }
}
